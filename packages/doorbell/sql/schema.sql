-- What the migrations make, read back from the catalog. Compared by test/sql/schema.test.ts; not run.

view all_jobs
  tenant_id text
  id uuid
  kind text
  lane text
  state text
  priority integer
  attempts integer
  max_attempts integer
  created_at timestamp with time zone
  run_after timestamp with time zone
  claimed_by text
  claimed_at timestamp with time zone
  lease_until timestamp with time zone
  payload jsonb
  object_key text
  object_sha256 text
  object_size bigint
  idempotency_key text
  limit_key text
  traceparent text
  last_error text
  error_code text
  fingerprint text
  result jsonb
  finished_at timestamp with time zone
  app_version text
  grant select to doorbell_web
  grant select to doorbell_worker

table attempts (row-level security forced)
  tenant_id text not null
  job_id uuid not null
  attempt integer not null
  outcome text not null
  worker text
  started_at timestamp with time zone
  ended_at timestamp with time zone not null default now()
  error_code text
  error text
  result jsonb
  constraint CHECK ((outcome = ANY (ARRAY['done'::text, 'failed'::text, 'retry'::text, 'snooze'::text, 'release'::text, 'wait'::text, 'lost'::text, 'cancelled'::text])))
  constraint CHECK ((tenant_id <> ''::text))
  constraint PRIMARY KEY (tenant_id, job_id, attempt)
  CREATE UNIQUE INDEX attempts_pkey ON doorbell.attempts USING btree (tenant_id, job_id, attempt)
  policy one_tenant using (tenant_id = doorbell.tenant()) with check (tenant_id = doorbell.tenant())
  policy our_functions to {doorbell_owner} using ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true)) with check ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true))
  grant select to doorbell_web
  grant select to doorbell_worker

table breakers (row-level security forced)
  tenant_id text not null
  kind text not null
  fingerprint text not null
  error text
  opened_at timestamp with time zone not null default clock_timestamp()
  held_until timestamp with time zone not null
  times integer not null default 1
  probe uuid
  changed_at timestamp with time zone not null default now()
  changed_by text
  constraint CHECK ((tenant_id <> ''::text))
  constraint PRIMARY KEY (tenant_id, kind)
  CREATE UNIQUE INDEX breakers_pkey ON doorbell.breakers USING btree (tenant_id, kind)
  policy one_tenant using (tenant_id = doorbell.tenant()) with check (tenant_id = doorbell.tenant())
  policy our_functions to {doorbell_owner} using ((( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = tenant_id) OR (( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = '*'::text)) with check ((( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = tenant_id) OR (( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = '*'::text))
  grant select to doorbell_web
  grant select to doorbell_worker

table children (row-level security forced)
  tenant_id text not null
  parent_id uuid not null
  key text not null
  name text not null
  n integer
  child_id uuid not null
  constraint CHECK ((tenant_id <> ''::text))
  constraint PRIMARY KEY (tenant_id, parent_id, key, name)
  CREATE INDEX children_child ON doorbell.children USING btree (tenant_id, child_id)
  CREATE UNIQUE INDEX children_pkey ON doorbell.children USING btree (tenant_id, parent_id, key, name)
  policy one_tenant using (tenant_id = doorbell.tenant()) with check (tenant_id = doorbell.tenant())
  policy our_functions to {doorbell_owner} using ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true)) with check ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true))
  grant select to doorbell_web
  grant select to doorbell_worker

table dead_letters (row-level security forced)
  tenant_id text not null
  id uuid not null
  kind text not null
  lane text not null default 'default'::text
  state text not null default 'queued'::text
  priority integer not null default 0
  attempts integer not null default 0
  max_attempts integer not null default 10
  created_at timestamp with time zone not null default now()
  run_after timestamp with time zone not null default now()
  claimed_by text
  claimed_at timestamp with time zone
  lease_until timestamp with time zone
  payload jsonb not null default '{}'::jsonb
  object_key text
  object_sha256 text
  object_size bigint
  idempotency_key text
  limit_key text
  traceparent text
  last_error text
  error_code text
  fingerprint text
  failed_at timestamp with time zone not null default now()
  app_version text
  constraint CHECK ((state = 'failed'::text))
  constraint CHECK ((tenant_id <> ''::text))
  constraint PRIMARY KEY (tenant_id, id)
  CREATE INDEX dead_letters_fingerprint ON doorbell.dead_letters USING btree (tenant_id, fingerprint)
  CREATE INDEX dead_letters_object ON doorbell.dead_letters USING btree (tenant_id, object_key) WHERE (object_key IS NOT NULL)
  CREATE UNIQUE INDEX dead_letters_pkey ON doorbell.dead_letters USING btree (tenant_id, id)
  policy one_tenant using (tenant_id = doorbell.tenant()) with check (tenant_id = doorbell.tenant())
  policy our_functions to {doorbell_owner} using ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true)) with check ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true))
  grant select to doorbell_web
  grant select to doorbell_worker

unlogged table doorbells (row-level security forced)
  lane text not null
  turn bigint
  tenant_id text not null
  priority integer not null
  job_id uuid not null
  ring_at timestamp with time zone
  constraint CHECK (((turn IS NOT NULL) OR (ring_at IS NOT NULL)))
  CREATE INDEX doorbells_alarms ON doorbell.doorbells USING btree (lane, ring_at) WHERE (turn IS NULL)
  CREATE INDEX doorbells_flow ON doorbell.doorbells USING btree (tenant_id, lane, priority, turn) WHERE (turn IS NOT NULL)
  CREATE INDEX doorbells_line ON doorbell.doorbells USING btree (lane, turn NULLS FIRST) WHERE (turn IS NOT NULL)
  policy one_tenant using (tenant_id = doorbell.tenant()) with check (tenant_id = doorbell.tenant())
  policy our_functions to {doorbell_owner} using ((( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = tenant_id) OR (( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = '*'::text)) with check ((( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = tenant_id) OR (( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = '*'::text))

table effect_outcomes (row-level security forced)
  tenant_id text not null
  job_id uuid not null
  key text not null
  n integer not null
  source text not null
  outcome text not null
  value jsonb
  reason text
  actor text
  at timestamp with time zone not null default now()
  constraint CHECK ((outcome = ANY (ARRAY['completed'::text, 'not_done'::text, 'unknown'::text])))
  constraint CHECK ((source = ANY (ARRAY['call'::text, 'probe'::text, 'person'::text])))
  constraint CHECK ((tenant_id <> ''::text))
  constraint PRIMARY KEY (tenant_id, job_id, key, n, source)
  CREATE UNIQUE INDEX effect_outcomes_pkey ON doorbell.effect_outcomes USING btree (tenant_id, job_id, key, n, source)
  policy one_tenant using (tenant_id = doorbell.tenant()) with check (tenant_id = doorbell.tenant())
  policy our_functions to {doorbell_owner} using ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true)) with check ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true))
  grant select to doorbell_web
  grant select to doorbell_worker

view effect_states
  tenant_id text
  job_id uuid
  key text
  n integer
  type text
  idempotency_key text
  request_hash text
  attempt integer
  begun_at timestamp with time zone
  outcome text
  value jsonb
  reason text
  actor text
  source text
  finished_at timestamp with time zone
  conflict boolean
  grant select to doorbell_web
  grant select to doorbell_worker

table effects (row-level security forced)
  tenant_id text not null
  job_id uuid not null
  key text not null
  n integer not null
  type text not null
  idempotency_key text not null
  request_hash text not null
  attempt integer not null
  begun_at timestamp with time zone not null default now()
  constraint CHECK ((tenant_id <> ''::text))
  constraint PRIMARY KEY (tenant_id, job_id, key, n)
  CREATE UNIQUE INDEX effects_pkey ON doorbell.effects USING btree (tenant_id, job_id, key, n)
  policy one_tenant using (tenant_id = doorbell.tenant()) with check (tenant_id = doorbell.tenant())
  policy our_functions to {doorbell_owner} using ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true)) with check ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true))
  grant select to doorbell_web
  grant select to doorbell_worker

table events (row-level security forced)
  tenant_id text not null
  event text not null
  at timestamp with time zone not null default clock_timestamp()
  id uuid not null
  payload jsonb
  constraint CHECK ((tenant_id <> ''::text))
  constraint PRIMARY KEY (tenant_id, event, at, id)
  CREATE INDEX events_at ON doorbell.events USING btree (tenant_id, at)
  CREATE UNIQUE INDEX events_pkey ON doorbell.events USING btree (tenant_id, event, at, id)
  policy one_tenant using (tenant_id = doorbell.tenant()) with check (tenant_id = doorbell.tenant())
  policy our_functions to {doorbell_owner} using ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true)) with check ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true))
  grant select to doorbell_web
  grant select to doorbell_worker

unlogged table failures (row-level security forced)
  tenant_id text not null
  kind text not null
  fingerprint text not null
  job_id uuid not null
  error text
  at timestamp with time zone not null default clock_timestamp()
  constraint CHECK ((tenant_id <> ''::text))
  CREATE INDEX failures_kind ON doorbell.failures USING btree (tenant_id, kind, fingerprint)
  policy one_tenant using (tenant_id = doorbell.tenant()) with check (tenant_id = doorbell.tenant())
  policy our_functions to {doorbell_owner} using ((( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = tenant_id) OR (( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = '*'::text)) with check ((( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = tenant_id) OR (( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = '*'::text))

partitioned table job_history (row-level security forced)
  tenant_id text not null
  id uuid not null
  kind text not null
  lane text not null default 'default'::text
  state text not null default 'queued'::text
  priority integer not null default 0
  attempts integer not null default 0
  max_attempts integer not null default 10
  created_at timestamp with time zone not null default now()
  run_after timestamp with time zone not null default now()
  claimed_by text
  claimed_at timestamp with time zone
  lease_until timestamp with time zone
  payload jsonb not null default '{}'::jsonb
  object_key text
  object_sha256 text
  object_size bigint
  idempotency_key text
  limit_key text
  traceparent text
  last_error text
  result jsonb
  finished_at timestamp with time zone not null default now()
  constraint CHECK ((state = ANY (ARRAY['done'::text, 'cancelled'::text, 'discarded'::text])))
  constraint CHECK ((tenant_id <> ''::text))
  constraint PRIMARY KEY (tenant_id, id, finished_at)
  CREATE INDEX job_history_object ON doorbell.job_history USING btree (tenant_id, object_key) WHERE (object_key IS NOT NULL)
  CREATE INDEX job_history_state ON doorbell.job_history USING btree (tenant_id, state, id) WHERE (state <> 'done'::text)
  CREATE UNIQUE INDEX job_history_pkey ON doorbell.job_history USING btree (tenant_id, id, finished_at)
  policy one_tenant using (tenant_id = doorbell.tenant()) with check (tenant_id = doorbell.tenant())
  policy our_functions to {doorbell_owner} using ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true)) with check ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true))
  grant select to doorbell_web
  grant select to doorbell_worker

table job_history_rest (row-level security forced)
  tenant_id text not null
  id uuid not null
  kind text not null
  lane text not null default 'default'::text
  state text not null default 'queued'::text
  priority integer not null default 0
  attempts integer not null default 0
  max_attempts integer not null default 10
  created_at timestamp with time zone not null default now()
  run_after timestamp with time zone not null default now()
  claimed_by text
  claimed_at timestamp with time zone
  lease_until timestamp with time zone
  payload jsonb not null default '{}'::jsonb
  object_key text
  object_sha256 text
  object_size bigint
  idempotency_key text
  limit_key text
  traceparent text
  last_error text
  result jsonb
  finished_at timestamp with time zone not null default now()
  constraint CHECK ((state = ANY (ARRAY['done'::text, 'cancelled'::text, 'discarded'::text])))
  constraint CHECK ((tenant_id <> ''::text))
  constraint PRIMARY KEY (tenant_id, id, finished_at)
  CREATE INDEX job_history_rest_tenant_id_object_key_idx ON doorbell.job_history_rest USING btree (tenant_id, object_key) WHERE (object_key IS NOT NULL)
  CREATE INDEX job_history_rest_tenant_id_state_id_idx ON doorbell.job_history_rest USING btree (tenant_id, state, id) WHERE (state <> 'done'::text)
  CREATE UNIQUE INDEX job_history_rest_pkey ON doorbell.job_history_rest USING btree (tenant_id, id, finished_at)
  policy one_tenant using (tenant_id = doorbell.tenant()) with check (tenant_id = doorbell.tenant())
  policy our_functions to {doorbell_owner} using ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true)) with check ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true))

table job_keys (row-level security forced)
  tenant_id text not null
  kind text not null
  key_hash bytea not null
  job_id uuid not null
  constraint CHECK ((tenant_id <> ''::text))
  constraint PRIMARY KEY (tenant_id, kind, key_hash)
  CREATE INDEX job_keys_job ON doorbell.job_keys USING btree (tenant_id COLLATE "POSIX", job_id)
  CREATE UNIQUE INDEX job_keys_pkey ON doorbell.job_keys USING btree (tenant_id, kind, key_hash)
  policy one_tenant using (tenant_id = doorbell.tenant()) with check (tenant_id = doorbell.tenant())
  policy our_functions to {doorbell_owner} using ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true)) with check ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true))

table job_logs (row-level security forced)
  tenant_id text not null
  job_id uuid not null
  attempt integer not null
  n integer not null
  at timestamp with time zone not null
  level text not null
  stage text
  message text not null
  fields jsonb
  constraint CHECK ((tenant_id <> ''::text))
  constraint PRIMARY KEY (tenant_id, job_id, attempt, n)
  CREATE UNIQUE INDEX job_logs_pkey ON doorbell.job_logs USING btree (tenant_id, job_id, attempt, n)
  policy one_tenant using (tenant_id = doorbell.tenant()) with check (tenant_id = doorbell.tenant())
  policy our_functions to {doorbell_owner} using ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true)) with check ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true))
  grant select to doorbell_web
  grant select to doorbell_worker

table jobs (row-level security forced)
  tenant_id text not null
  id uuid not null
  kind text not null
  lane text not null default 'default'::text
  state text not null default 'queued'::text
  priority integer not null default 0
  attempts integer not null default 0
  max_attempts integer not null default 10
  created_at timestamp with time zone not null default now()
  run_after timestamp with time zone not null default now()
  claimed_by text
  claimed_at timestamp with time zone
  lease_until timestamp with time zone
  payload jsonb not null default '{}'::jsonb
  object_key text
  object_sha256 text
  object_size bigint
  idempotency_key text
  limit_key text
  traceparent text
  last_error text
  constraint CHECK ((state = ANY (ARRAY['queued'::text, 'claimed'::text, 'waiting'::text])))
  constraint CHECK ((tenant_id <> ''::text))
  constraint PRIMARY KEY (tenant_id, id)
  CREATE INDEX jobs_due ON doorbell.jobs USING btree (tenant_id COLLATE "POSIX", run_after)
  CREATE INDEX jobs_object ON doorbell.jobs USING btree (tenant_id, object_key) WHERE (object_key IS NOT NULL)
  CREATE UNIQUE INDEX jobs_pkey ON doorbell.jobs USING btree (tenant_id, id)
  policy one_tenant using (tenant_id = doorbell.tenant()) with check (tenant_id = doorbell.tenant())
  policy our_functions to {doorbell_owner} using ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true)) with check ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true))
  grant select to doorbell_web
  grant select to doorbell_worker

table lanes
  lane text not null
  clock regclass not null
  reached regclass not null
  looked regclass not null
  created_at timestamp with time zone not null default now()
  constraint CHECK ((lane ~ '^[a-z0-9][a-z0-9_-]{0,62}$'::text))
  constraint PRIMARY KEY (lane)
  CREATE UNIQUE INDEX lanes_pkey ON doorbell.lanes USING btree (lane)
  grant select to doorbell_producer
  grant select to doorbell_reader
  grant select to doorbell_web
  grant select to doorbell_worker

table migrations
  name text not null
  checksum text not null
  applied_at timestamp with time zone not null default now()
  constraint PRIMARY KEY (name)
  CREATE UNIQUE INDEX migrations_pkey ON doorbell.migrations USING btree (name)
  grant select to doorbell_reader
  grant select to doorbell_web
  grant select to doorbell_worker

unlogged table milestones
  lane text not null
  at bigint not null
  turn bigint not null
  CREATE INDEX milestones_at ON doorbell.milestones USING btree (lane, at)

table newcomers (row-level security forced)
  tenant_id text not null
  constraint CHECK ((tenant_id <> ''::text))
  CREATE INDEX newcomers_tenant ON doorbell.newcomers USING btree (tenant_id)
  policy one_tenant using (tenant_id = doorbell.tenant()) with check (tenant_id = doorbell.tenant())
  policy our_functions to {doorbell_owner} using ((( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = tenant_id) OR (( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = '*'::text)) with check ((( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = tenant_id) OR (( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = '*'::text))

unlogged table rung (row-level security forced)
  tenant_id text not null
  job_id uuid not null
  lane text not null
  rung_at timestamp with time zone not null default clock_timestamp()
  times integer not null default 1
  lost boolean not null default false
  constraint PRIMARY KEY (tenant_id, job_id)
  CREATE INDEX rung_lane ON doorbell.rung USING btree (lane, rung_at) WHERE (NOT lost)
  CREATE UNIQUE INDEX rung_pkey ON doorbell.rung USING btree (tenant_id, job_id)
  policy one_tenant using (tenant_id = doorbell.tenant()) with check (tenant_id = doorbell.tenant())
  policy our_functions to {doorbell_owner} using ((( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = tenant_id) OR (( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = '*'::text)) with check ((( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = tenant_id) OR (( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = '*'::text))

table settings
  name text not null
  value jsonb not null
  changed_at timestamp with time zone not null default now()
  constraint PRIMARY KEY (name)
  CREATE UNIQUE INDEX settings_pkey ON doorbell.settings USING btree (name)
  grant select to doorbell_reader
  grant select to doorbell_web
  grant select to doorbell_worker

table steps (row-level security forced)
  tenant_id text not null
  job_id uuid not null
  key text not null
  type text not null
  done boolean not null
  attempt integer not null
  value jsonb
  event text
  event_id uuid
  until timestamp with time zone
  children integer
  at timestamp with time zone not null default clock_timestamp()
  constraint CHECK ((tenant_id <> ''::text))
  constraint CHECK ((type = ANY (ARRAY['step'::text, 'sleep'::text, 'event'::text, 'children'::text])))
  constraint PRIMARY KEY (tenant_id, job_id, key)
  CREATE INDEX steps_event ON doorbell.steps USING btree (tenant_id, event) WHERE ((event IS NOT NULL) AND (NOT done))
  CREATE UNIQUE INDEX steps_pkey ON doorbell.steps USING btree (tenant_id, job_id, key)
  policy one_tenant using (tenant_id = doorbell.tenant()) with check (tenant_id = doorbell.tenant())
  policy our_functions to {doorbell_owner} using ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true)) with check ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true))
  grant select to doorbell_web
  grant select to doorbell_worker

table tenants (row-level security forced)
  tenant_id text not null
  weight double precision not null default 1
  created_at timestamp with time zone not null default now()
  constraint CHECK (((weight >= (0.001)::double precision) AND (weight <= (1000)::double precision)))
  constraint CHECK ((tenant_id <> ''::text))
  constraint PRIMARY KEY (tenant_id)
  CREATE UNIQUE INDEX tenants_pkey ON doorbell.tenants USING btree (tenant_id)
  policy one_tenant using (tenant_id = doorbell.tenant()) with check (tenant_id = doorbell.tenant())
  policy our_functions to {doorbell_owner} using ((( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = tenant_id) OR (( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = '*'::text)) with check ((( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = tenant_id) OR (( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = '*'::text))

table token_keys (row-level security forced)
  inner_key bytea not null
  outer_key bytea not null
  policy owner_alone to {doorbell_owner} using true with check true

unlogged table unhandled (row-level security forced)
  tenant_id text not null
  job_id uuid not null
  kind text not null
  lane text not null
  constraint PRIMARY KEY (tenant_id, job_id)
  CREATE INDEX unhandled_kind ON doorbell.unhandled USING btree (kind)
  CREATE UNIQUE INDEX unhandled_pkey ON doorbell.unhandled USING btree (tenant_id, job_id)
  policy one_tenant using (tenant_id = doorbell.tenant()) with check (tenant_id = doorbell.tenant())
  policy our_functions to {doorbell_owner} using ((( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = tenant_id) OR (( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = '*'::text)) with check ((( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = tenant_id) OR (( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = '*'::text))

table usage_counters (row-level security forced)
  tenant_id text not null
  meter text not null
  day date not null
  amount bigint not null
  constraint CHECK ((tenant_id <> ''::text))
  constraint PRIMARY KEY (tenant_id, meter, day)
  CREATE UNIQUE INDEX usage_counters_pkey ON doorbell.usage_counters USING btree (tenant_id, meter, day)
  policy one_tenant using (tenant_id = doorbell.tenant()) with check (tenant_id = doorbell.tenant())
  policy our_functions to {doorbell_owner} using ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true)) with check ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true))
  grant select to doorbell_web
  grant select to doorbell_worker

table webhook_deliveries (row-level security forced)
  tenant_id text not null
  job_id uuid not null
  id uuid not null
  endpoint_id uuid not null
  key text not null
  attempt integer not null
  outcome text not null
  status integer
  took_ms integer not null
  reason text
  at timestamp with time zone not null default now()
  constraint CHECK ((octet_length(reason) <= 1000))
  constraint CHECK ((outcome = ANY (ARRAY['completed'::text, 'not_done'::text, 'unknown'::text])))
  constraint CHECK ((tenant_id <> ''::text))
  constraint PRIMARY KEY (tenant_id, job_id, id)
  CREATE INDEX webhook_deliveries_endpoint ON doorbell.webhook_deliveries USING btree (tenant_id, endpoint_id, id)
  CREATE UNIQUE INDEX webhook_deliveries_pkey ON doorbell.webhook_deliveries USING btree (tenant_id, job_id, id)
  policy one_tenant using (tenant_id = doorbell.tenant()) with check (tenant_id = doorbell.tenant())
  policy our_functions to {doorbell_owner} using ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true)) with check ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true))
  grant select to doorbell_web
  grant select to doorbell_worker

table webhook_endpoints (row-level security forced)
  tenant_id text not null
  id uuid not null
  url text not null
  events text[] not null
  state text not null default 'active'::text
  disabled_reason text
  disabled_at timestamp with time zone
  created_at timestamp with time zone not null default now()
  updated_at timestamp with time zone not null default now()
  constraint CHECK ((((cardinality(events) >= 1) AND (cardinality(events) <= 100)) AND (array_position(events, NULL::text) IS NULL) AND (octet_length(array_to_string(events, ''::text)) <= 20000)))
  constraint CHECK (((octet_length(url) >= 1) AND (octet_length(url) <= 2000)))
  constraint CHECK ((octet_length(disabled_reason) <= 1000))
  constraint CHECK ((state = ANY (ARRAY['active'::text, 'disabled'::text])))
  constraint CHECK ((tenant_id <> ''::text))
  constraint PRIMARY KEY (tenant_id, id)
  CREATE UNIQUE INDEX webhook_endpoints_pkey ON doorbell.webhook_endpoints USING btree (tenant_id, id)
  policy one_tenant using (tenant_id = doorbell.tenant()) with check (tenant_id = doorbell.tenant())
  policy our_functions to {doorbell_owner} using ((( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = tenant_id) OR (( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = '*'::text)) with check ((( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = tenant_id) OR (( SELECT current_setting('doorbell.tenant_id'::text, true) AS current_setting) = '*'::text))
  grant select to doorbell_web
  grant select to doorbell_worker

table webhook_secrets (row-level security forced)
  tenant_id text not null
  endpoint_id uuid not null
  n integer not null
  sealed bytea not null
  created_at timestamp with time zone not null default now()
  expires_at timestamp with time zone
  constraint CHECK ((octet_length(sealed) <= 500))
  constraint CHECK ((tenant_id <> ''::text))
  constraint PRIMARY KEY (tenant_id, endpoint_id, n)
  CREATE UNIQUE INDEX webhook_secrets_pkey ON doorbell.webhook_secrets USING btree (tenant_id, endpoint_id, n)
  policy one_tenant using (tenant_id = doorbell.tenant()) with check (tenant_id = doorbell.tenant())
  policy our_functions to {doorbell_owner} using ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true)) with check ((tenant_id || ''::text) = current_setting('doorbell.tenant_id'::text, true))

table workers
  id text not null
  role text not null
  host text not null
  pid integer not null
  version text not null
  app_version text
  kinds text[] not null
  lanes text[] not null
  slots integer not null
  running integer not null default 0
  draining boolean not null default false
  doorbells_dropped bigint not null default 0
  started_at timestamp with time zone not null default now()
  seen_at timestamp with time zone not null default now()
  constraint PRIMARY KEY (id)
  CREATE UNIQUE INDEX workers_pkey ON doorbell.workers USING btree (id)
  grant select to doorbell_reader
  grant select to doorbell_web
  grant select to doorbell_worker

functions
  doorbell.accept_tokens(bytea[])
  doorbell.add_lane(text) security definer set search_path=pg_catalog, pg_temp grant to doorbell_web, doorbell_worker
  doorbell.add_partitions(integer) security definer set search_path=pg_catalog, pg_temp, TimeZone=UTC, lock_timeout=100ms grant to doorbell_worker
  doorbell.add_webhook(text,uuid,text,text[],bytea) security definer set search_path=pg_catalog, pg_temp grant to doorbell_web, doorbell_worker
  doorbell.beat(text,text,text,integer,text,text[],text[],integer,integer,boolean,bigint,text) security definer set search_path=pg_catalog, pg_temp grant to doorbell_web, doorbell_worker
  doorbell.begin_effects(text,text[],uuid[],integer[],text[],text[],text[],text[],boolean[]) security definer set search_path=pg_catalog, pg_temp, plan_cache_mode=force_generic_plan, enable_hashjoin=off, enable_mergejoin=off, enable_seqscan=off, enable_bitmapscan=off, enable_material=off, enable_memoize=off grant to doorbell_worker
  doorbell.breaker_pause(integer)
  doorbell.canary() security definer set search_path=pg_catalog, pg_temp grant to doorbell_worker
  doorbell.cancel(text,uuid,text) security definer set search_path=pg_catalog, pg_temp grant to doorbell_web, doorbell_worker
  doorbell.check_event(text)
  doorbell.check_job(text,integer,integer)
  doorbell.check_size(jsonb,text)
  doorbell.child_id(uuid,text,text)
  doorbell.claim(text,text[],uuid[],text[],bigint) security definer set search_path=pg_catalog, pg_temp grant to doorbell_worker
  doorbell.clamp(text,text)
  doorbell.close_breaker(text,text) security definer set search_path=pg_catalog, pg_temp grant to doorbell_web, doorbell_worker
  doorbell.count_usage(text,text,uuid,integer,text,text,text,bigint) security definer set search_path=pg_catalog, pg_temp grant to doorbell_worker
  doorbell.discard(text,uuid[],text,text) security definer set search_path=pg_catalog, pg_temp grant to doorbell_web, doorbell_worker
  doorbell.drop_bells(text[],uuid[],text[],integer)
  doorbell.emit(text,text,jsonb) security definer set search_path=pg_catalog, pg_temp grant to doorbell_producer, doorbell_web, doorbell_worker
  doorbell.end_breakers(text,text[])
  doorbell.enqueue(text,text,jsonb,uuid,text,timestamp with time zone,text,integer,integer,text,text,bigint,text,text) security definer set search_path=pg_catalog, pg_temp grant to doorbell_producer, doorbell_web, doorbell_worker
  doorbell.enqueue_many(json) security definer set search_path=pg_catalog, pg_temp grant to doorbell_producer, doorbell_web, doorbell_worker
  doorbell.extend(text,text[],uuid[],integer[],bigint) security definer set search_path=pg_catalog, pg_temp, plan_cache_mode=force_generic_plan, enable_hashjoin=off, enable_mergejoin=off, enable_seqscan=off, enable_bitmapscan=off, enable_material=off, enable_memoize=off grant to doorbell_worker
  doorbell.find_steps(text[],uuid[],text[]) security definer set search_path=pg_catalog, pg_temp, plan_cache_mode=force_generic_plan, enable_hashjoin=off, enable_mergejoin=off, enable_seqscan=off, enable_bitmapscan=off, enable_material=off, enable_memoize=off grant to doorbell_worker
  doorbell.finish_effects(text[],uuid[],text[],integer[],text[],text[],jsonb[],text[]) security definer set search_path=pg_catalog, pg_temp, plan_cache_mode=force_generic_plan, enable_hashjoin=off, enable_mergejoin=off, enable_seqscan=off, enable_bitmapscan=off, enable_material=off, enable_memoize=off grant to doorbell_worker
  doorbell.force_line(text)
  doorbell.force_tenancy(text)
  doorbell.forget_failures()
  doorbell.forget_rung(text[],uuid[],text)
  doorbell.guard(text[],text)
  doorbell.has_open_children(text,uuid,text)
  doorbell.has_webhooks() security definer set search_path=pg_catalog, pg_temp grant to doorbell_producer, doorbell_reader, doorbell_web, doorbell_worker
  doorbell.hold(text,text[],text[],uuid[])
  doorbell.hold_attempt(text,text,uuid,integer)
  doorbell.in_doubt(text,uuid) grant to doorbell_web, doorbell_worker
  doorbell.is_signed() security definer set search_path=pg_catalog, pg_temp grant to doorbell_producer, doorbell_reader, doorbell_web, doorbell_worker
  doorbell.is_to_be_looked_at(text,uuid,integer)
  doorbell.judge(text,text[],uuid[],integer[],text[],text[])
  doorbell.keep_steps(text,text[],uuid[],integer[],text[],jsonb[]) security definer set search_path=pg_catalog, pg_temp, plan_cache_mode=force_generic_plan, enable_hashjoin=off, enable_mergejoin=off, enable_seqscan=off, enable_bitmapscan=off, enable_material=off, enable_memoize=off grant to doorbell_worker
  doorbell.list_breakers() security definer set search_path=pg_catalog, pg_temp grant to doorbell_web, doorbell_worker
  doorbell.lock_event(text,text,boolean)
  doorbell.losses(text,uuid,integer)
  doorbell.max_attempts_cap()
  doorbell.may_serve(text[])
  doorbell.meet(text[])
  doorbell.new_id()
  doorbell.next_event(text,uuid,text,timestamp with time zone)
  doorbell.nowhere(text[],uuid[],text[]) set enable_nestloop=off, enable_hashjoin=on, enable_seqscan=on
  doorbell.open_line(text)
  doorbell.owners_of(text[],text[],text[],uuid[],uuid[]) set enable_hashjoin=off, enable_mergejoin=off, enable_material=off, enable_memoize=off
  doorbell.pop(text[],text[],integer) set enable_seqscan=off
  doorbell.pop_lane(doorbell.lanes,integer) set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off, enable_sort=off
  doorbell.put_back(text[],uuid[]) security definer set search_path=pg_catalog, pg_temp grant to doorbell_worker
  doorbell.put_to_wait(doorbell.jobs,doorbell.steps,text,timestamp with time zone)
  doorbell.recover_leases(text)
  doorbell.refire(text,uuid[],text,text,text) security definer set search_path=pg_catalog, pg_temp grant to doorbell_web, doorbell_worker
  doorbell.remove_webhook(text,uuid) security definer set search_path=pg_catalog, pg_temp grant to doorbell_web, doorbell_worker
  doorbell.replay(text,uuid[],integer) security definer set search_path=pg_catalog, pg_temp grant to doorbell_web, doorbell_worker
  doorbell.require_lane(text)
  doorbell.resolve_effect(text,uuid,text,text,jsonb,text,text) security definer set search_path=pg_catalog, pg_temp grant to doorbell_web, doorbell_worker
  doorbell.retire(text,integer) security definer set search_path=pg_catalog, pg_temp, TimeZone=UTC, lock_timeout=100ms grant to doorbell_worker
  doorbell.ring(text[],text[],integer[],uuid[],timestamp with time zone[]) set plan_cache_mode=force_generic_plan, enable_sort=off, enable_seqscan=off
  doorbell.ring_alarms(text,integer,timestamp with time zone) set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off, enable_sort=off
  doorbell.ring_lost(text[],interval,text[]) set plan_cache_mode=force_generic_plan, enable_hashjoin=off, enable_mergejoin=off, enable_seqscan=off, enable_bitmapscan=off, enable_material=off, enable_memoize=off
  doorbell.room(text)
  doorbell.rotate_webhook(text,uuid,bytea,double precision) security definer set search_path=pg_catalog, pg_temp grant to doorbell_web, doorbell_worker
  doorbell.set_webhook_state(text,uuid,text,text) security definer set search_path=pg_catalog, pg_temp grant to doorbell_web, doorbell_worker
  doorbell.setting(text) grant to doorbell_web, doorbell_worker
  doorbell.settle(text,text[],uuid[],integer[],text[],bigint[],jsonb[],text[],text[],text[]) security definer set search_path=pg_catalog, pg_temp, plan_cache_mode=force_generic_plan, enable_hashjoin=off, enable_mergejoin=off, enable_seqscan=off, enable_bitmapscan=off, enable_material=off, enable_memoize=off grant to doorbell_worker
  doorbell.sign_off(text) security definer set search_path=pg_catalog, pg_temp grant to doorbell_web, doorbell_worker
  doorbell.spawn(text,text,uuid,integer,text,text[],json) security definer set search_path=pg_catalog, pg_temp grant to doorbell_worker
  doorbell.stats() security definer set search_path=pg_catalog, pg_temp, enable_hashjoin=off, enable_mergejoin=off, enable_material=off, enable_memoize=off grant to doorbell_web, doorbell_worker
  doorbell.step(double precision,integer)
  doorbell.still_waits(text,uuid,integer,timestamp with time zone)
  doorbell.story(text,uuid) set search_path=pg_catalog, pg_temp grant to doorbell_web, doorbell_worker
  doorbell.sweep(text,integer,interval,text[]) security definer set search_path=pg_catalog, pg_temp grant to doorbell_worker
  doorbell.take(text,integer) security definer set search_path=pg_catalog, pg_temp grant to doorbell_worker
  doorbell.take_keys(text[],text[],bytea[],uuid[]) set enable_hashjoin=off, enable_mergejoin=off, enable_seqscan=off, enable_material=off, enable_memoize=off
  doorbell.tell_delivery(text,uuid,text,integer,uuid,text,integer,integer,text) security definer set search_path=pg_catalog, pg_temp grant to doorbell_worker
  doorbell.tenant() security definer set search_path=pg_catalog, pg_temp grant to -
  doorbell.tick(text,text[],integer,text[],bigint,text[],uuid[],text[],uuid[],integer[],text[],bigint[],jsonb[],text[],text[],text[]) security definer set search_path=pg_catalog, pg_temp, plan_cache_mode=force_generic_plan, enable_hashjoin=off, enable_mergejoin=off, enable_seqscan=off, enable_bitmapscan=off, enable_material=off, enable_memoize=off grant to doorbell_worker
  doorbell.token_tenant() security definer set search_path=pg_catalog, pg_temp
  doorbell.troubled(text[]) set plan_cache_mode=force_generic_plan, enable_hashjoin=off, enable_mergejoin=off, enable_seqscan=off, enable_bitmapscan=off, enable_material=off, enable_memoize=off
  doorbell.unclamp(text)
  doorbell.wait_for(text,text,uuid,integer,text,text,bigint) security definer set search_path=pg_catalog, pg_temp, lock_timeout=50ms grant to doorbell_worker
  doorbell.wake_parents(text[],uuid[]) security definer set search_path=pg_catalog, pg_temp, lock_timeout=1s grant to doorbell_worker
  doorbell.wake_waiting(text)
  doorbell.webhook_target(text,uuid) security definer set search_path=pg_catalog, pg_temp grant to doorbell_worker
  doorbell.webhooks_for(text,text) security definer set search_path=pg_catalog, pg_temp grant to doorbell_worker
  doorbell.write_logs(text[],uuid[],integer[],integer[],timestamp with time zone[],text[],text[],text[],jsonb[]) security definer set search_path=pg_catalog, pg_temp grant to doorbell_worker
