-- Settle: attempts end. For doorbell_worker.
--
-- Fenced by (claimed_by, attempts): the jobs that come back are those whose attempt this was. The others are lost: their
-- lease has passed on, and nothing of theirs is written. Per element:
--
--   done       → job_history, with the result                        cancelled  → job_history
--   failed     → dead_letters                                        retry      → queued after the delay; out of attempts: failed
--   snooze, release → queued after the delay; the attempt is given back by raising max_attempts, within a cap: then failed
--   wait       → waiting, while an effect of the job is in doubt; else queued at once
--
-- No outcomes at all: all are done. delays are in ms. errors, codes and fingerprints belong to what did not go well.
create or replace function doorbell.settle(
  worker text, tenants text[], ids uuid[], attempts int[], outcomes text[] default null,
  delays bigint[] default null, results jsonb[] default null,
  errors text[] default null, codes text[] default null, fingerprints text[] default null)
returns table (tenant_id text, id uuid)
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
  cap    constant int  := doorbell.max_attempts_cap();
  result_of constant jsonb := (     -- by tenant, id and attempt: a lost attempt's may be in the same batch; null: there are none
    select jsonb_object_agg(o.tenant_id || ' ' || o.id || ' ' || o.attempt, o.result)
      from unnest(tenants, ids, attempts, results) o(tenant_id, id, attempt, result) where o.result is not null);
  error_of constant jsonb := (
    select jsonb_object_agg(o.tenant_id || ' ' || o.id || ' ' || o.attempt, o.error)
      from unnest(tenants, ids, attempts, errors) o(tenant_id, id, attempt, error) where o.error is not null);
  again  record;
begin
  perform doorbell.guard(settle.tenants, caller);
  perform doorbell.check_size(r, 'a result') from unnest(results) r where r is not null;

  -- Nearly always all are done, at the same attempt: then one statement locks and settles them in one order. Where several
  -- groups or statements follow, an ordered pass locks the rows first, so that they cannot deadlock.
  if outcomes is not null or attempts <> array_fill(attempts[1], array[cardinality(attempts)]) then
    perform from (
      select set_config('doorbell.tenant_id', o.tenant_id, true) as tenant_id, o.ids
        from (select o.tenant_id collate "C" as tenant_id, array_agg(o.id order by o.id) as ids
                from unnest(tenants, ids) o(tenant_id, id) group by 1 order by 1) o offset 0) o
      join doorbell.jobs j on j.tenant_id = any (array[o.tenant_id]) and j.id = any (o.ids)
                          and j.id >= o.ids[1] and j.id <= o.ids[cardinality(o.ids)]
     where j.state = 'claimed' and j.claimed_by = settle.worker
       for update of j;
  end if;

  return query
  with settled as (
    delete from doorbell.jobs j
     using (select set_config('doorbell.tenant_id', o.tenant_id, true) as tenant_id, o.attempt, o.outcome, o.ids
              from (select o.tenant_id collate "C" as tenant_id, o.attempt, coalesce(o.outcome, 'done') as outcome,
                           array_agg(o.id order by o.id) as ids
                      from unnest(tenants, ids, attempts, outcomes) o(tenant_id, id, attempt, outcome)
                     where coalesce(o.outcome, 'done') in ('done', 'cancelled') group by 1, 2, 3 order by 1, 2, 3) o offset 0) o
     where j.tenant_id = any (array[o.tenant_id]) and j.id = any (o.ids) and j.id >= o.ids[1] and j.id <= o.ids[cardinality(o.ids)]
       and j.state = 'claimed' and j.claimed_by = settle.worker and j.attempts = o.attempt
    returning j.*, o.outcome,
              case when result_of is not null then result_of -> (j.tenant_id || ' ' || j.id || ' ' || j.attempts) end as result,
              case when error_of is not null then error_of ->> (j.tenant_id || ' ' || j.id || ' ' || j.attempts) end as error)
  insert into doorbell.job_history (
    tenant_id, id, kind, lane, state, priority, attempts, max_attempts, created_at, run_after, claimed_by, claimed_at, payload,
    object_key, object_sha256, object_size, idempotency_key, limit_key, traceparent, last_error, result, finished_at)
  select set_config('doorbell.tenant_id', tenant_id, true), id, kind, lane, outcome, priority, attempts, max_attempts, created_at,
         run_after, claimed_by, claimed_at, payload, object_key, object_sha256, object_size, idempotency_key, limit_key,
         traceparent, coalesce(error, last_error), result, clock_timestamp()
    from settled
  returning tenant_id, id;

  if outcomes && array['failed', 'retry', 'snooze', 'release'] then
    return query
    with settled as (
      delete from doorbell.jobs j
       using (select set_config('doorbell.tenant_id', o.tenant_id, true) as tenant_id, o.id, o.attempt, o.outcome, o.error, o.code, o.fingerprint
                from (select * from unnest(tenants, ids, attempts, outcomes, errors, codes, fingerprints)
                                      o(tenant_id, id, attempt, outcome, error, code, fingerprint)
                       where o.outcome in ('failed', 'retry', 'snooze', 'release') order by o.tenant_id collate "C", o.id) o offset 0) o
       where j.tenant_id = any (array[o.tenant_id]) and j.id >= o.id and j.id <= o.id
         and j.state = 'claimed' and j.claimed_by = settle.worker and j.attempts = o.attempt
         and (o.outcome = 'failed' or j.attempts >= case o.outcome when 'retry' then j.max_attempts else cap end)
      returning j.*, o.error, o.code, o.fingerprint),
    attempt as (
      insert into doorbell.attempts (tenant_id, job_id, attempt, outcome, worker, started_at, error_code, error, ended_at)
      select set_config('doorbell.tenant_id', tenant_id, true), id, attempts, 'failed', claimed_by, claimed_at, code, error,
             clock_timestamp() from settled)
    insert into doorbell.dead_letters (
      tenant_id, id, kind, lane, state, priority, attempts, max_attempts, created_at, run_after, claimed_by, claimed_at, payload,
      object_key, object_sha256, object_size, idempotency_key, limit_key, traceparent, last_error, error_code, fingerprint, failed_at, app_version)
    select set_config('doorbell.tenant_id', tenant_id, true), id, kind, lane, 'failed', priority, attempts, max_attempts, created_at,
           run_after, claimed_by, claimed_at, payload, object_key, object_sha256, object_size, idempotency_key, limit_key,
           traceparent, coalesce(error, last_error), code, fingerprint, clock_timestamp(),
           (select w.app_version from doorbell.workers w where w.id = claimed_by)
      from settled
    returning tenant_id, id;
  end if;

  if outcomes && array['retry', 'snooze', 'release', 'wait'] then
    with open as (
      update doorbell.jobs j
         set state = case when o.outcome = 'wait' and doorbell.in_doubt(o.tenant_id, j.id) then 'waiting' else 'queued' end,
             claimed_by = null, lease_until = null,
             max_attempts = case when o.outcome = 'retry' then j.max_attempts else least(j.max_attempts + 1, cap) end,
             run_after = clock_timestamp() + coalesce(o.delay, 0) * interval '1 ms', last_error = coalesce(o.error, j.last_error)
        from (select set_config('doorbell.tenant_id', o.tenant_id, true) as tenant_id, o.id, o.attempt, o.outcome, o.delay, o.error, o.code
                from (select * from unnest(tenants, ids, attempts, outcomes, delays, errors, codes)
                                      o(tenant_id, id, attempt, outcome, delay, error, code)
                       where o.outcome in ('retry', 'snooze', 'release', 'wait') order by o.tenant_id collate "C", o.id) o offset 0) o
       where j.tenant_id = any (array[o.tenant_id]) and j.id >= o.id and j.id <= o.id
         and j.state = 'claimed' and j.claimed_by = settle.worker and j.attempts = o.attempt
      returning j.tenant_id, j.lane, j.priority, j.id, j.attempts, j.state, j.run_after, j.claimed_at, o.outcome, o.error, o.code),
    attempt as (
      insert into doorbell.attempts (tenant_id, job_id, attempt, outcome, worker, started_at, error_code, error, ended_at)
      select set_config('doorbell.tenant_id', tenant_id, true), id, attempts, outcome, settle.worker, claimed_at, code, error,
             clock_timestamp() from open)
    select array_agg(o.tenant_id) as tenants, array_agg(o.id) as ids,
           array_agg(o.lane) filter (where o.state = 'queued') as ring_lanes,
           array_agg(o.tenant_id) filter (where o.state = 'queued') as ring_tenants,
           array_agg(o.priority) filter (where o.state = 'queued') as ring_priorities,
           array_agg(o.id) filter (where o.state = 'queued') as ring_ids,
           array_agg(o.run_after) filter (where o.state = 'queued') as ring_ats
      into again from open o;
    return query select o.tenant_id, o.id from unnest(again.tenants, again.ids) o(tenant_id, id);
    if again.ring_ids is not null then
      perform set_config('doorbell.tenant_id', case when caller <> '' then caller else '*' end, true);
      perform doorbell.ring(again.ring_lanes, again.ring_tenants, again.ring_priorities, again.ring_ids, again.ring_ats);
    end if;
  end if;

  -- Nearly always there is nothing to judge: two looks at empty tables (functions/16_poison.sql).
  perform set_config('doorbell.tenant_id', case when caller <> '' then caller else '*' end, true);
  if outcomes && array['failed', 'retry'] or exists (select from doorbell.failures) or exists (select from doorbell.breakers) then
    perform doorbell.judge(worker, tenants, ids, attempts, outcomes, fingerprints);
  end if;
  perform doorbell.unclamp(caller);
end $$;
