-- What people do with jobs, one tenant at a time. For doorbell_web and doorbell_worker.

-- Cancels an open job, also a running one: its attempt loses its lease, so it can begin and record nothing more.
--   cancelled    final (it has settled, and stays as it is)    not_found
create or replace function doorbell.cancel(tenant text, id uuid, reason text default null) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
  answer text;
begin
  perform doorbell.clamp(tenant, caller);
  with gone as (
    delete from doorbell.jobs j where j.tenant_id = tenant and j.id = cancel.id returning j.*),
  attempt as (
    insert into doorbell.attempts (tenant_id, job_id, attempt, outcome, worker, started_at, error)
    select tenant_id, id, attempts, 'cancelled', claimed_by, claimed_at, reason from gone where state = 'claimed')
  insert into doorbell.job_history (
    tenant_id, id, kind, lane, state, priority, attempts, max_attempts, created_at, run_after, claimed_by, claimed_at, payload,
    object_key, object_sha256, object_size, idempotency_key, limit_key, traceparent, last_error)
  select tenant_id, id, kind, lane, 'cancelled', priority, attempts, max_attempts, created_at, run_after, claimed_by, claimed_at, payload,
         object_key, object_sha256, object_size, idempotency_key, limit_key, traceparent, coalesce(reason, last_error)
    from gone;
  answer := case when found then 'cancelled' end;
  if answer is not null then
    begin
      perform doorbell.wake_parents(array[tenant], array[cancel.id]);
    exception when lock_not_available then
      null;   -- the sweep does it
    end;
  end if;
  if answer is null then
    select 'final' into answer from doorbell.all_jobs j where j.tenant_id = tenant and j.id = cancel.id;
  end if;
  perform doorbell.unclamp(caller);
  return coalesce(answer, 'not_found');
end $$;

-- Runs settled jobs again: the same id, the next attempt number, the same ledger. Per id:
--   replayed    open (it has not settled yet)    not_found (never was, or its time is over, and its ledger gone or going)
--   key_taken   its idempotency key is another job's: two jobs would do what was to be done once
-- A key lives as long as its job's row, so nobody can take it; rows that were restored or mended by hand may say otherwise.
create or replace function doorbell.replay(tenant text, ids uuid[], more_attempts int default 10)
returns table (id uuid, answer text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  caller     constant text := current_setting('doorbell.tenant_id', true);
  kept_since constant timestamptz := now() - (doorbell.setting('retention_days'))::int * interval '1 day';
  again      record;
  taken      uuid[];
begin
  perform doorbell.clamp(tenant, caller);
  taken := array(
    select j.id from doorbell.all_jobs j
      join doorbell.job_keys k on k.tenant_id = tenant and k.kind = j.kind and k.key_hash = sha256(convert_to(j.idempotency_key, 'UTF8'))
     where j.tenant_id = tenant and j.id = any (replay.ids) and j.idempotency_key is not null and k.job_id <> j.id
       and j.state not in ('queued', 'claimed', 'waiting'));
  with chosen as (
    select distinct i as id from unnest(replay.ids) i where i <> all (taken)),
  dead as (
    delete from doorbell.dead_letters d where d.tenant_id = tenant and d.id in (select c.id from chosen c) returning d.*),
  settled as (
    delete from doorbell.job_history h where h.tenant_id = tenant and h.id in (select c.id from chosen c)
       and h.finished_at >= kept_since returning h.*),
  -- What the last attempt came to was told by the row itself until now. (A dead letter's attempt has its row already.)
  attempt as (
    insert into doorbell.attempts (tenant_id, job_id, attempt, outcome, worker, started_at, ended_at, error, result)
    select tenant_id, id, attempts, 'done', claimed_by, claimed_at, finished_at, last_error, result from settled where state = 'done'
    on conflict do nothing),
  open as (
    insert into doorbell.jobs (
      tenant_id, id, kind, lane, priority, attempts, max_attempts, created_at, payload,
      object_key, object_sha256, object_size, idempotency_key, limit_key, traceparent, last_error)
    select tenant_id, id, kind, lane, priority, attempts, least(attempts + more_attempts, doorbell.max_attempts_cap()), created_at, payload,
           object_key, object_sha256, object_size, idempotency_key, limit_key, traceparent, last_error from dead
     union all
    select tenant_id, id, kind, lane, priority, attempts, least(attempts + more_attempts, doorbell.max_attempts_cap()), created_at, payload,
           object_key, object_sha256, object_size, idempotency_key, limit_key, traceparent, null from settled
    returning id, lane, priority)
  select array_agg(o.lane order by o.id) as lanes, array_agg(tenant) as tenants,
         array_agg(o.priority order by o.id) as priorities, array_agg(o.id order by o.id) as ids into again from open o;
  if again.ids is not null then
    delete from doorbell.steps s where s.tenant_id = tenant and s.job_id = any (again.ids);   -- a new run computes them anew
    perform doorbell.ring(again.lanes, again.tenants, again.priorities, again.ids);
  end if;
  return query
  select c.id, case when c.id = any (again.ids) then 'replayed' when c.id = any (taken) then 'key_taken' when j.id is not null then 'open' else 'not_found' end
    from (select distinct unnest(replay.ids) as id) c
    left join doorbell.jobs j on j.tenant_id = tenant and j.id = c.id;
  perform doorbell.unclamp(caller);
end $$;

-- Puts dead letters aside, with a reason on record. The ids that come back are those it found.
create or replace function doorbell.discard(tenant text, ids uuid[], reason text, actor text) returns setof uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
begin
  perform doorbell.clamp(tenant, caller);
  if coalesce(reason, '') = '' or coalesce(actor, '') = '' then
    raise exception 'doorbell: discarding dead letters needs a reason and who gives it' using errcode = '22023';
  end if;
  return query
  with gone as (
    delete from doorbell.dead_letters d where d.tenant_id = tenant and d.id = any (discard.ids) returning d.*)
  insert into doorbell.job_history (
    tenant_id, id, kind, lane, state, priority, attempts, max_attempts, created_at, run_after, claimed_by, claimed_at, payload,
    object_key, object_sha256, object_size, idempotency_key, limit_key, traceparent, last_error, result)
  select tenant_id, id, kind, lane, 'discarded', priority, attempts, max_attempts, created_at, run_after, claimed_by, claimed_at, payload,
         object_key, object_sha256, object_size, idempotency_key, limit_key, traceparent, last_error,
         jsonb_build_object('discarded_by', actor, 'reason', reason, 'error_code', error_code, 'fingerprint', fingerprint)
    from gone
  returning id;
  perform doorbell.unclamp(caller);
end $$;

-- Everything about one job, as one story in order of time. Reads under the caller's clamp, with the caller's rights.
create or replace function doorbell.story(tenant text, job uuid)
returns table (at timestamptz, attempt int, what text, level text, stage text, message text, fields jsonb)
language sql stable set search_path = pg_catalog, pg_temp as $$
  with told as (
    select j.created_at as at, 0 as attempt, 0 as rank, 0 as n, 'job' as what, 'info' as level, null as stage, 'enqueued' as message,
           jsonb_strip_nulls(jsonb_build_object('kind', j.kind, 'lane', j.lane, 'object_key', j.object_key)) as fields
      from doorbell.all_jobs j where j.tenant_id = tenant and j.id = job
     union all
    select a.started_at, a.attempt, 1, 0, 'attempt', 'info', null, 'attempt ' || a.attempt || ' claimed', jsonb_build_object('worker', a.worker)
      from doorbell.attempts a where a.tenant_id = tenant and a.job_id = job and a.started_at is not null
     union all
    select j.claimed_at, j.attempts, 1, 0, 'attempt', 'info', null, 'attempt ' || j.attempts || ' claimed', jsonb_build_object('worker', j.claimed_by)
      from doorbell.all_jobs j where j.tenant_id = tenant and j.id = job and j.attempts > 0 and j.claimed_at is not null
       and not exists (select from doorbell.attempts a where a.tenant_id = tenant and a.job_id = job and a.attempt = j.attempts)
     union all
    select l.at, l.attempt, 2, l.n, 'log', l.level, l.stage, l.message, l.fields
      from doorbell.job_logs l where l.tenant_id = tenant and l.job_id = job
     union all
    select e.begun_at, e.attempt, 2, 0, 'effect', 'info', null, 'effect ' || e.key || ' begun',
           jsonb_build_object('type', e.type, 'idempotency_key', e.idempotency_key)
      from doorbell.effects e where e.tenant_id = tenant and e.job_id = job
     union all
    select o.at, e.attempt, 2, 1, 'effect', case o.outcome when 'completed' then 'info' else 'warn' end, null,
           'effect ' || o.key || ' ' || replace(o.outcome, '_', ' ') || case o.source when 'call' then '' else ' (says ' || coalesce(o.actor, o.source) || ')' end,
           jsonb_strip_nulls(jsonb_build_object('reason', o.reason, 'value', o.value))
      from doorbell.effect_outcomes o join doorbell.effects e using (tenant_id, job_id, key, n)
     where o.tenant_id = tenant and o.job_id = job
     union all
    select a.ended_at, a.attempt, 3, 0, 'attempt', case when a.outcome in ('done', 'snooze') or a.outcome = 'wait' and a.error_code = 'step' then 'info' else 'warn' end, null,
           'attempt ' || a.attempt || ' ended: ' || a.outcome, jsonb_strip_nulls(jsonb_build_object('code', a.error_code, 'error', a.error))
      from doorbell.attempts a where a.tenant_id = tenant and a.job_id = job
     union all
    -- A dead letter and its last attempt are written by one statement, in no order: the attempt is told first.
    select greatest(j.finished_at, (select a.ended_at from doorbell.attempts a
                                     where a.tenant_id = tenant and a.job_id = job and a.attempt = j.attempts)),
           j.attempts, 4, 0, 'job', case j.state when 'failed' then 'error' else 'info' end, null, j.state,
           jsonb_strip_nulls(jsonb_build_object('code', j.error_code))
      from doorbell.all_jobs j where j.tenant_id = tenant and j.id = job and j.finished_at is not null)
  select t.at, t.attempt, t.what, t.level, t.stage, t.message, t.fields
    from told t order by t.attempt, t.rank = 0 desc, t.at, t.rank, t.n
$$;
