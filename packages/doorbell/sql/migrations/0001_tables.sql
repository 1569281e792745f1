-- Doorbell's tables.  PostgreSQL 15 and newer.  Run as doorbell_owner.
--
-- How the tenant boundary holds
--   * Every table with a tenant_id FORCEs row-level security, and its owner is an ordinary role, so the policies bind
--     inside our functions too. They know exactly one tenant: the setting doorbell.tenant_id, the clamp. Unset and
--     empty both match no row.
--   * Where tenancy is signed, a reader's clamp counts only with a token that proves it (doorbell.tenant below), and so
--     does a caller's who may not claim (functions/01_clamp.sql): SQL that somebody injects cannot make one.
--   * Nobody but the owner can write a table. The functions are SECURITY DEFINER with a pinned search_path: the state
--     machine, the fence and the tenant check live in one place.
--   * A function that serves many tenants moves the clamp, in a loop or row by row (functions/01_clamp.sql tells how).
--   * The line (doorbells and its companions) is shared: one order over all tenants, nothing in it but ids. It is read
--     across tenants under the clamp '*', which matches no tenant's row anywhere else and which only our functions use.
--
-- Tenants, kinds and the like compare as bytes ("C"): cheap, and the same order in every database.

-- Functions of ours are nobody's until granted. (This default cannot be set for one schema only.)
alter default privileges for role doorbell_owner revoke execute on functions from public;

-- Signed tenancy: the keys that tokens may be signed with, as HMAC wants them (RFC 2104): xored with 36 and with 5c, to 64
-- bytes. None: tenancy is plain. The owner's alone; doorbell.accept_tokens writes them.
create table doorbell.token_keys (inner_key bytea not null, outer_key bytea not null);
alter table doorbell.token_keys enable row level security, force row level security;
create policy owner_alone on doorbell.token_keys to doorbell_owner using (true) with check (true);   -- whoever is granted it

-- Whose token this transaction carries. Null: none, or one that is forged or has expired.
-- A token is `tenant|expiry|HMAC`: the expiry in ms since 1970, the HMAC-SHA256 of all before it in lower-case hex.
create function doorbell.token_tenant() returns text
language plpgsql stable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
declare
  part constant text[] := regexp_match(current_setting('doorbell.token', true), '^((.+)\|(\d{1,15}))\|([0-9a-f]{64})$');
begin
  return (select part[2] from doorbell.token_keys k
           where part[3]::bigint > extract(epoch from clock_timestamp()) * 1000
             and sha256(k.outer_key || sha256(k.inner_key || convert_to(part[1], 'UTF8'))) = decode(part[4], 'hex')
           limit 1);
end $$;

-- The tenant whose rows a reader may see: the clamp, with a valid token where tenancy is signed. Null: none. Everybody's,
-- for the policies of the application's own tables as well.
create function doorbell.tenant() returns text
language plpgsql stable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
declare
  clamp constant text := current_setting('doorbell.tenant_id', true);
begin
  return case when clamp = '' then null
              when not exists (select from doorbell.token_keys) then clamp
              when doorbell.token_tenant() = clamp then clamp end;
end $$;

-- Gives a table with a tenant_id its two policies, and forces them on the owner.
create function doorbell.force_tenancy(name text) returns void
language plpgsql as $$
begin
  execute format('alter table doorbell.%I enable row level security, force row level security', name);
  -- For whoever reads: an index condition.
  execute format($p$create policy one_tenant on doorbell.%I
    using      (tenant_id = doorbell.tenant())
    with check (tenant_id = doorbell.tenant())$p$, name);
  -- For our functions, which have judged the caller's token already: the clamp itself, written so that the two together
  -- cannot become an index condition. Where the clamp moves row by row, only the statement's own conditions may drive an
  -- index (functions/01_clamp.sql). It is the cheap one, and Postgres tries the policy first whose name comes last.
  execute format($p$create policy our_functions on doorbell.%I to doorbell_owner
    using      (tenant_id || '' = current_setting('doorbell.tenant_id', true))
    with check (tenant_id || '' = current_setting('doorbell.tenant_id', true))$p$, name);
end $$;

-- The same for a table of the line, which our functions see all of under the clamp '*'.
create function doorbell.force_line(name text) returns void
language plpgsql as $$
begin
  execute format('alter table doorbell.%I enable row level security, force row level security', name);
  execute format($p$create policy one_tenant on doorbell.%I
    using      (tenant_id = doorbell.tenant())
    with check (tenant_id = doorbell.tenant())$p$, name);
  execute format($p$create policy our_functions on doorbell.%I to doorbell_owner
    using      ((select current_setting('doorbell.tenant_id', true)) in (tenant_id, '*'))
    with check ((select current_setting('doorbell.tenant_id', true)) in (tenant_id, '*'))$p$, name);
end $$;


-- ── jobs ──────────────────────────────────────────────────────────────────────────────────────────────────────────

-- Open jobs, and nothing else: queued, claimed, waiting. Small and hot. No index mentions a column that a claim
-- changes (state, attempts, claimed_by, claimed_at, lease_until), so that a claim is a HOT update.
create table doorbell.jobs (
  tenant_id       text collate "C" not null check (tenant_id <> ''),
  id              uuid not null,
  kind            text collate "C" not null,
  lane            text collate "C" not null default 'default',
  state           text collate "C" not null default 'queued' check (state in ('queued', 'claimed', 'waiting')),
  priority        int not null default 0,
  attempts        int not null default 0,        -- charged at the claim; only ever grows, so a fence never comes back
  max_attempts    int not null default 10,       -- raised by one where an attempt is given back
  created_at      timestamptz not null default now(),
  run_after       timestamptz not null default now(),
  claimed_by      text collate "C",
  claimed_at      timestamptz,
  lease_until     timestamptz,
  payload         jsonb not null default '{}',
  object_key      text collate "C",
  object_sha256   text collate "C",
  object_size     bigint,
  idempotency_key text collate "C",
  limit_key       text collate "C",
  traceparent     text collate "C",
  last_error      text,
  primary key (tenant_id, id)
) with (fillfactor = 40, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
-- A page must hold every row of it twice, for one statement may claim them all, and a claimed row is some 50 bytes longer.

-- For the sweep, which passes over a million future jobs. Its tenant compares as "POSIX", which orders bytes as "C" does but
-- is another collation to the planner: a statement that looks a job up by tenant and id finds the primary key and no other
-- index, and cannot come to read all of a tenant's jobs instead. The sweep asks for it by name.
create index jobs_due on doorbell.jobs (tenant_id collate "POSIX", run_after);
create index jobs_object on doorbell.jobs (tenant_id, object_key) where object_key is not null;
select doorbell.force_tenancy('jobs');

-- Failed jobs, where people look. They stay until replayed or discarded.
create table doorbell.dead_letters (
  like doorbell.jobs including defaults including constraints,
  error_code  text collate "C",
  fingerprint text collate "C",
  failed_at   timestamptz not null default now(),
  app_version text,                               -- of the application whose worker had it last; null: it told none
  primary key (tenant_id, id)
);
alter table doorbell.dead_letters drop constraint jobs_state_check, add check (state = 'failed');
create index dead_letters_object      on doorbell.dead_letters (tenant_id, object_key) where object_key is not null;
create index dead_letters_fingerprint on doorbell.dead_letters (tenant_id, fingerprint);
select doorbell.force_tenancy('dead_letters');

-- Settled jobs, by the day they settled: retention is a DROP, and never touches unfinished work. Ids are UUID v7, so the
-- primary key lists by creation; what is not done is little, and has an index of its own.
create table doorbell.job_history (
  like doorbell.jobs including defaults including constraints,
  result      jsonb,
  finished_at timestamptz not null default now(),
  primary key (tenant_id, id, finished_at)
) partition by range (finished_at);
alter table doorbell.job_history drop constraint jobs_state_check, add check (state in ('done', 'cancelled', 'discarded'));
create index job_history_state  on doorbell.job_history (tenant_id, state, id) where state <> 'done';
create index job_history_object on doorbell.job_history (tenant_id, object_key) where object_key is not null;
select doorbell.force_tenancy('job_history');

-- For days that have no partition of their own: maintenance has not run for longer than it makes partitions ahead.
create table doorbell.job_history_rest partition of doorbell.job_history default;
select doorbell.force_tenancy('job_history_rest');

-- Every job exactly once, whatever became of it.
create view doorbell.all_jobs with (security_invoker) as
  select tenant_id, id, kind, lane, state, priority, attempts, max_attempts, created_at, run_after, claimed_by, claimed_at,
         lease_until, payload, object_key, object_sha256, object_size, idempotency_key, limit_key, traceparent, last_error,
         null::text collate "C" as error_code, null::text collate "C" as fingerprint,
         null::jsonb as result, null::timestamptz as finished_at, null::text as app_version
    from doorbell.jobs
  union all
  select tenant_id, id, kind, lane, state, priority, attempts, max_attempts, created_at, run_after, claimed_by, claimed_at,
         lease_until, payload, object_key, object_sha256, object_size, idempotency_key, limit_key, traceparent, last_error,
         error_code, fingerprint, null, failed_at, app_version
    from doorbell.dead_letters
  union all
  select tenant_id, id, kind, lane, state, priority, attempts, max_attempts, created_at, run_after, claimed_by, claimed_at,
         lease_until, payload, object_key, object_sha256, object_size, idempotency_key, limit_key, traceparent, last_error,
         null, null, result, finished_at, null
    from doorbell.job_history;

-- Dedup: the unique index decides. Holds idempotency keys, hashed so that they may be of any length, and the ids that
-- callers chose (kind '', which no job has). A key lives as long as its job's row, in whatever table that is.
create table doorbell.job_keys (
  tenant_id text collate "C" not null check (tenant_id <> ''),
  kind      text collate "C" not null,
  key_hash  bytea not null,
  job_id    uuid not null,
  primary key (tenant_id, kind, key_hash)
);
create index job_keys_job on doorbell.job_keys (tenant_id collate "POSIX", job_id);   -- for retention; as jobs_due
select doorbell.force_tenancy('job_keys');


-- ── what happened to a job ────────────────────────────────────────────────────────────────────────────────────────

-- Every attempt that did not simply succeed, and those that did once a replay has followed them.
create table doorbell.attempts (
  tenant_id  text collate "C" not null check (tenant_id <> ''),
  job_id     uuid not null,
  attempt    int not null,
  outcome    text collate "C" not null
             check (outcome in ('done', 'failed', 'retry', 'snooze', 'release', 'wait', 'lost', 'cancelled')),
  worker     text collate "C",
  started_at timestamptz,
  ended_at   timestamptz not null default now(),
  error_code text collate "C",
  error      text,
  result     jsonb,
  primary key (tenant_id, job_id, attempt)
);
select doorbell.force_tenancy('attempts');

-- What handlers and stages say. The number is the writer's, so that a batch sent twice is stored once.
create table doorbell.job_logs (
  tenant_id text collate "C" not null check (tenant_id <> ''),
  job_id    uuid not null,
  attempt   int not null,
  n         int not null,
  at        timestamptz not null,
  level     text collate "C" not null,
  stage     text,
  message   text not null,
  fields    jsonb,
  primary key (tenant_id, job_id, attempt, n)
);
select doorbell.force_tenancy('job_logs');

-- The ledger. A row before each call to the outside …
create table doorbell.effects (
  tenant_id       text collate "C" not null check (tenant_id <> ''),
  job_id          uuid not null,
  key             text collate "C" not null,
  n               int not null,                   -- 1, and one more each time it is begun again
  type            text collate "C" not null,      -- effect, webhook, email, usage
  idempotency_key text collate "C" not null,
  request_hash    text collate "C" not null,
  attempt         int not null,
  begun_at        timestamptz not null default now(),
  primary key (tenant_id, job_id, key, n)
);
select doorbell.force_tenancy('effects');

-- … and a row after it: what the call told, what a probe found, what a person answered. Each may speak once.
create table doorbell.effect_outcomes (
  tenant_id text collate "C" not null check (tenant_id <> ''),
  job_id    uuid not null,
  key       text collate "C" not null,
  n         int not null,
  source    text collate "C" not null check (source in ('call', 'probe', 'person')),
  outcome   text collate "C" not null check (outcome in ('completed', 'not_done', 'unknown')),
  value     jsonb,
  reason    text,
  actor     text,
  at        timestamptz not null default now(),
  primary key (tenant_id, job_id, key, n, source)
);
select doorbell.force_tenancy('effect_outcomes');

-- The built-in effect `usage`: counted in the statement that completes it, so exactly once.
create table doorbell.usage_counters (
  tenant_id text collate "C" not null check (tenant_id <> ''),
  meter     text collate "C" not null,
  day       date not null,                        -- in UTC
  amount    bigint not null,
  primary key (tenant_id, meter, day)
);
select doorbell.force_tenancy('usage_counters');

-- Each attempt at an endpoint of a webhook, for whoever asks why something did not arrive. The ledger decides; this tells.
create table doorbell.webhook_deliveries (
  tenant_id   text collate "C" not null check (tenant_id <> ''),
  job_id      uuid not null,
  id          uuid not null,
  endpoint_id uuid not null,                      -- it may have been removed since
  key         text collate "C" not null,          -- of the effect
  attempt     int not null,
  outcome     text collate "C" not null check (outcome in ('completed', 'not_done', 'unknown')),
  status      int,                                -- null: no answer
  took_ms     int not null,
  reason      text check (octet_length(reason) <= 1000),
  at          timestamptz not null default now(),
  primary key (tenant_id, job_id, id)
);
create index webhook_deliveries_endpoint on doorbell.webhook_deliveries (tenant_id, endpoint_id, id);
select doorbell.force_tenancy('webhook_deliveries');

-- What a run of a job has computed, and what it waits for: memoised values, sleeps, events, children. A replay begins a new
-- run, and takes them away; it can, because whatever writes one holds the lease.
create table doorbell.steps (
  tenant_id text collate "C" not null check (tenant_id <> ''),
  job_id    uuid not null,
  key       text collate "C" not null,
  type      text collate "C" not null check (type in ('step', 'sleep', 'event', 'children')),
  done      boolean not null,                     -- false: it is waited for
  attempt   int not null,                         -- that computed it, or that last ended waiting for it
  value     jsonb,
  event     text collate "C",                     -- the name of the event that is waited for …
  event_id  uuid,                                 -- … and which one came; null when done: none came in time
  until     timestamptz,                          -- when the sleep, or the patience, is over
  children  int,                                  -- how many
  at        timestamptz not null default clock_timestamp(),
  primary key (tenant_id, job_id, key)
);
create index steps_event on doorbell.steps (tenant_id, event) where event is not null and not done;
select doorbell.force_tenancy('steps');

-- Whose children a job spawned. They stay over a replay of the parent: the same child is the same job. n is its place among
-- those of this run; null: it belongs to an earlier one.
create table doorbell.children (
  tenant_id text collate "C" not null check (tenant_id <> ''),
  parent_id uuid not null,
  key       text collate "C" not null,
  name      text collate "C" not null,
  n         int,
  child_id  uuid not null,
  primary key (tenant_id, parent_id, key, name)
);
create index children_child on doorbell.children (tenant_id, child_id);
select doorbell.force_tenancy('children');

-- What has happened, for jobs that wait for it. Belongs to a tenant, not to a job.
create table doorbell.events (
  tenant_id text collate "C" not null check (tenant_id <> ''),
  event     text collate "C" not null,
  at        timestamptz not null default clock_timestamp(),
  id        uuid not null,
  payload   jsonb,
  primary key (tenant_id, event, at, id)
);
create index events_at on doorbell.events (tenant_id, at);   -- for retention
select doorbell.force_tenancy('events');


-- ── the line ──────────────────────────────────────────────────────────────────────────────────────────────────────

-- Who should look at which job, and when. Disposable: a crash empties it, and the sweeper rings again.
-- functions/03_line.sql explains turns, clocks and milestones.
create unlogged table doorbell.doorbells (
  lane      text collate "C" not null,
  turn      bigint,                               -- null: an alarm; it gets its turn at ring_at
  tenant_id text collate "C" not null,
  priority  int not null,
  job_id    uuid not null,
  ring_at   timestamptz,
  check (turn is not null or ring_at is not null)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index doorbells_line   on doorbell.doorbells (lane, turn nulls first) where turn is not null;
create index doorbells_flow   on doorbell.doorbells (tenant_id, lane, priority, turn) where turn is not null;
create index doorbells_alarms on doorbell.doorbells (lane, ring_at) where turn is null;
select doorbell.force_line('doorbells');

-- Doorbells of jobs whose kind was unknown to the worker that met them. The first worker that knows it takes them.
create unlogged table doorbell.unhandled (
  tenant_id text collate "C" not null,
  job_id    uuid not null,
  kind      text collate "C" not null,
  lane      text collate "C" not null,
  primary key (tenant_id, job_id)
);
create index unhandled_kind on doorbell.unhandled (kind);
select doorbell.force_line('unhandled');

-- Doorbells that were handed to an external queue and have not come back as a claim: what is outstanding.
create unlogged table doorbell.rung (
  tenant_id text collate "C" not null,
  job_id    uuid not null,
  lane      text collate "C" not null,
  rung_at   timestamptz not null default clock_timestamp(),
  times     int not null default 1,
  lost      boolean not null default false,         -- it did not arrive, and is in the line again
  primary key (tenant_id, job_id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index rung_lane on doorbell.rung (lane, rung_at) where not lost;
select doorbell.force_line('rung');

-- How far each lane had been popped at which time (ms since 1970). Never updated.
create unlogged table doorbell.milestones (lane text collate "C" not null, at bigint not null, turn bigint not null)
  with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index milestones_at on doorbell.milestones (lane, at);

-- A lane is an address: workers serve lanes, kinds are assigned to them. Each has a virtual clock, kept in sequences:
-- no row lock, no dead versions, visible at once, and reset by a crash together with the line.
create table doorbell.lanes (
  lane       text collate "C" primary key check (lane ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
  clock      regclass not null,                   -- virtual time: where a flow with an empty line starts
  reached    regclass not null,                   -- the highest turn popped so far
  looked     regclass not null,                   -- when a pop last looked back; ms since 1970
  created_at timestamptz not null default now()
);


-- ── the registry ──────────────────────────────────────────────────────────────────────────────────────────────────

create table doorbell.tenants (
  tenant_id  text collate "C" primary key check (tenant_id <> ''),
  weight     float8 not null default 1 check (weight between 0.001 and 1000),   -- its share, against others that wait
  created_at timestamptz not null default now()
);
select doorbell.force_line('tenants');

-- Tenants that have enqueued for the first time; the next sweep registers them. Not unique: a unique key would make a
-- new tenant's producers wait for the first of them to commit.
create table doorbell.newcomers (tenant_id text collate "C" not null check (tenant_id <> ''));
create index newcomers_tenant on doorbell.newcomers (tenant_id);
select doorbell.force_line('newcomers');

-- Running processes, as they last said themselves. No tenant's.
create table doorbell.workers (
  id                text collate "C" primary key,
  role              text collate "C" not null,
  host              text not null,
  pid               int not null,
  version           text not null,                  -- Doorbell's
  app_version       text,                           -- the application's, if it tells one
  kinds             text[] not null,
  lanes             text[] not null,
  slots             int not null,
  running           int not null default 0,
  draining          boolean not null default false,
  doorbells_dropped bigint not null default 0,
  started_at        timestamptz not null default now(),
  seen_at           timestamptz not null default now()
) with (fillfactor = 50);

-- Where a tenant's events are sent. A table of the line, so that one question can be asked of all tenants at once: whether
-- there are any (functions/14_webhooks.sql). Everything else asks for one tenant.
create table doorbell.webhook_endpoints (
  tenant_id       text collate "C" not null check (tenant_id <> ''),
  id              uuid not null,
  url             text not null check (octet_length(url) between 1 and 2000),
  events          text[] not null check (cardinality(events) between 1 and 100 and array_position(events, null) is null
                                         and octet_length(array_to_string(events, '')) <= 20000),   -- '*': all
  state           text collate "C" not null default 'active' check (state in ('active', 'disabled')),
  disabled_reason text check (octet_length(disabled_reason) <= 1000),
  disabled_at     timestamptz,
  created_at      timestamptz not null default now(),
  updated_at      timestamptz not null default now(),
  primary key (tenant_id, id)
);
select doorbell.force_line('webhook_endpoints');

-- What deliveries to an endpoint are signed with, sealed: only a process that has the keys can open them, and only for this
-- tenant and endpoint. Two are valid while one is being replaced.
create table doorbell.webhook_secrets (
  tenant_id   text collate "C" not null check (tenant_id <> ''),
  endpoint_id uuid not null,
  n           int not null,                       -- the highest is the newest
  sealed      bytea not null check (octet_length(sealed) <= 500),
  created_at  timestamptz not null default now(),
  expires_at  timestamptz,                        -- null: until it is replaced
  primary key (tenant_id, endpoint_id, n)
);
select doorbell.force_tenancy('webhook_secrets');

-- What has failed of late, for breakers: a row a failed attempt. functions/16_poison.sql tells how they are judged. These two
-- are tables of the line, so that one look says whether there are any: nearly always there are none.
create unlogged table doorbell.failures (
  tenant_id   text collate "C" not null check (tenant_id <> ''),
  kind        text collate "C" not null,
  fingerprint text collate "C" not null,
  job_id      uuid not null,
  error       text,
  at          timestamptz not null default clock_timestamp()
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
create index failures_kind on doorbell.failures (tenant_id, kind, fingerprint);
select doorbell.force_line('failures');

-- Kinds that are paused for a tenant.
create table doorbell.breakers (
  tenant_id   text collate "C" not null check (tenant_id <> ''),
  kind        text collate "C" not null,
  fingerprint text collate "C" not null,          -- of what opened it, or kept it open
  error       text,
  opened_at   timestamptz not null default clock_timestamp(),
  held_until  timestamptz not null,               -- then one job is let through
  times       int not null default 1,             -- the how-manieth pause it is
  probe       uuid,                               -- the job that was let through last
  changed_at  timestamptz not null default now(), -- in which transaction it was opened, or kept open
  changed_by  text collate "C",
  primary key (tenant_id, kind)
);
select doorbell.force_line('breakers');

create table doorbell.settings (
  name       text collate "C" primary key,
  value      jsonb not null,
  changed_at timestamptz not null default now()
);
insert into doorbell.settings (name, value) values
  ('max_value_bytes', '65536'),   -- payload, result and effect value, each; as compact JSON
  ('retention_days',  '30'),      -- how long a settled job and all that belongs to it stay
  ('process_killer_after', '3'),  -- lost leases in a row that make a job a dead letter; 0: only its last attempt does
  ('breaker_failures', '10'),     -- jobs of a kind and tenant that fail alike and pause it; 0: never
  ('breaker_window_ms', '60000'), -- within so long, and without a success
  ('breaker_pause_ms', '60000');  -- the first pause; each next one is twice as long, up to 15 minutes


-- ── shapes that functions speak in ────────────────────────────────────────────────────────────────────────────────

-- An element of enqueue_many: members are named as enqueue's arguments are.
create type doorbell.new_job as (
  tenant text, kind text, payload jsonb, id uuid, key text, run_after timestamptz, delay_ms float8, lane text, priority int,
  max_attempts int, object_key text, object_sha256 text, object_size bigint, limit_key text, traceparent text);

-- A row of a tick. what = 'claimed': a job, with its attempt. 'lost': a settlement that was refused, the lease was gone.
-- 'stale', 'unhandled', 'missed': how many doorbells (in attempt) came to nothing; no other column is set.
create type doorbell.tick_row as (
  what text, tenant_id text, id uuid, kind text, attempt int, max_attempts int, payload jsonb,
  object_key text, object_sha256 text, object_size bigint, traceparent text);
