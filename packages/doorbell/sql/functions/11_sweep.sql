-- The sweep: the net under everything. For doorbell_worker.
--
-- One chunk of tenants, in order, from `after`; `last` is where it ended, null when there are no more. Three things may
-- have gone wrong with an open job:
--   its lease has expired   → queued again (the attempt stays charged), or a dead letter when it was the last;
--   its doorbell is lost    → rung again;
--   it waits for nothing    → queued: what became of its effect in doubt was told late, by the call itself; its patience
--                             with an event is over; whoever should have woken it did not.
-- Lost is looked up, not guessed: the job is due for longer than `grace`, and it has no doorbell in the line, none kept
-- for a worker that knows its kind, and none on its way through an external queue. That one counts as lost when a worker
-- of its lane has free slots and finds the queue empty (`idle_lanes`, the sweeping process's own), two seconds after it
-- was sent; and if that was wrong and the queue merely slow, later each time. So a backlog behind busy workers, or behind
-- none, is not rung again, whatever its length; and what cannot be acted on hides nothing behind it.
--
-- Each tenant's due jobs are read once, by the index jobs_due, under a moving clamp. Tenants with leases or waiting jobs
-- to see to are served one by one; lost doorbells are found and rung for the whole chunk at once. Rows that another has
-- locked are skipped, so several sweeps at once do no harm.
create or replace function doorbell.sweep(
  after text default '', chunk int default 1000, grace interval default '5 s', idle_lanes text[] default '{}',
  out last text, out expired int, out dead int, out rung int
) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
  tenants text[];
  tenant  text;
  counts  record;
begin
  expired := 0; dead := 0; rung := 0;
  perform doorbell.open_line(caller);
  if after = '' then
    perform doorbell.forget_failures();
    -- What nobody has come back with for so long: its job is gone, or will be found lost.
    delete from doorbell.rung r
     where r.ctid = any (array(select r.ctid from doorbell.rung r
                                where r.lane = any (idle_lanes) and r.rung_at < now() - interval '10 min' for update skip locked));
  end if;
  with newcomer as (delete from doorbell.newcomers n where n.ctid = any (array(
      select n.ctid from doorbell.newcomers n for update skip locked)) returning tenant_id)
  insert into doorbell.tenants (tenant_id) select distinct tenant_id from newcomer order by 1 on conflict do nothing;
  select array_agg(c.tenant_id), max(c.tenant_id) into tenants, last
    from (select r.tenant_id from doorbell.tenants r where r.tenant_id > after order by r.tenant_id limit chunk) c;

  foreach tenant in array coalesce(doorbell.troubled(tenants), '{}') loop
    perform set_config('doorbell.tenant_id', tenant, true);
    select * into counts from doorbell.recover_leases(tenant);
    expired := expired + counts.expired;
    dead := dead + counts.dead;
    rung := rung + doorbell.wake_waiting(tenant);
  end loop;
  rung := rung + doorbell.ring_lost(tenants, grace, idle_lanes);
  perform doorbell.unclamp(caller);
end $$;

-- Those of these tenants that have an expired lease, or a job that waits for nothing, or whose wait is to be looked at.
create or replace function doorbell.troubled(tenants text[]) returns text[]
language plpgsql set plan_cache_mode = force_generic_plan
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off as $$
#variable_conflict use_column
begin
  return (
    select array_agg(t.tenant_id)
      from (select set_config('doorbell.tenant_id', t.tenant_id, true) as tenant_id from unnest(tenants) t(tenant_id) offset 0) t
      join lateral (
        select from doorbell.jobs j
         where j.tenant_id collate "POSIX" = any (array[t.tenant_id]) and j.run_after <= now()
           and case j.state when 'claimed' then j.lease_until < now()
                            when 'waiting' then doorbell.is_to_be_looked_at(t.tenant_id, j.id, j.attempts) end
         limit 1) look on true);
end $$;

-- Under the clamp: jobs whose lease has expired are queued again, or are dead letters when that was their last attempt, or
-- when so many attempts in a row have ended like this that the job must be thought to kill its process. It may also have
-- been beside one that does: so from the second time on they come back at different moments, and not all in one process again.
create or replace function doorbell.recover_leases(tenant text, out expired int, out dead int)
language plpgsql as $$
#variable_conflict use_column
declare
  killer constant int := doorbell.setting('process_killer_after');
  again record;
begin
  with gone as (
    delete from doorbell.jobs j
     where j.tenant_id = tenant and j.id in (
       select e.id from doorbell.jobs e
        where e.tenant_id = tenant collate "POSIX" and e.run_after <= now() and e.state = 'claimed' and e.lease_until < now()
          and (e.attempts >= e.max_attempts or (killer > 0 and doorbell.losses(tenant, e.id, e.attempts) + 1 >= killer))
        order by e.id for update skip locked)
    returning j.*, case when j.attempts >= j.max_attempts then 'lease_lost' else 'process_killer' end as code,
              case when j.attempts >= j.max_attempts
                   then format('the lease of attempt %s was lost: worker %s died or stalled, and it was the last attempt', j.attempts, j.claimed_by)
                   else format('the lease of attempt %s was lost, as those of the %s before it: worker %s died or stalled each time, so the job is not tried again by itself',
                               j.attempts, killer - 1, j.claimed_by) end as error),
  attempt as (
    insert into doorbell.attempts (tenant_id, job_id, attempt, outcome, worker, started_at, error_code, error)
    select tenant_id, id, attempts, 'lost', claimed_by, claimed_at, code, error from gone)
  insert into doorbell.dead_letters (
    tenant_id, id, kind, lane, state, priority, attempts, max_attempts, created_at, run_after, claimed_by, claimed_at, payload,
    object_key, object_sha256, object_size, idempotency_key, limit_key, traceparent, last_error, error_code, fingerprint,
    app_version)
  select tenant_id, id, kind, lane, 'failed', priority, attempts, max_attempts, created_at, run_after, claimed_by, claimed_at, payload,
         object_key, object_sha256, object_size, idempotency_key, limit_key, traceparent, error, code, code,
         (select w.app_version from doorbell.workers w where w.id = claimed_by)
    from gone;
  get diagnostics dead = row_count;

  with lost as (
    select e.id, e.attempts, e.claimed_by, e.claimed_at, doorbell.losses(tenant, e.id, e.attempts) as losses from doorbell.jobs e
     where e.tenant_id = tenant collate "POSIX" and e.run_after <= now() and e.state = 'claimed' and e.lease_until < now()
       and e.attempts < e.max_attempts and (killer = 0 or doorbell.losses(tenant, e.id, e.attempts) + 1 < killer)
     order by e.id for update skip locked),
  attempt as (
    insert into doorbell.attempts (tenant_id, job_id, attempt, outcome, worker, started_at, error_code, error)
    select tenant, l.id, l.attempts, 'lost', l.claimed_by, l.claimed_at, 'lease_lost',
           format('the lease of attempt %s was lost: worker %s died or stalled', l.attempts, l.claimed_by) from lost l),
  open as (
    update doorbell.jobs j set state = 'queued', claimed_by = null, lease_until = null,
                               run_after = now() + case when l.losses = 0 then 0 else 5 * random() end * interval '1 s'
      from lost l where j.tenant_id = tenant and j.id = l.id
    returning j.lane, j.priority, j.id, j.run_after)
  select array_agg(o.lane order by o.id) as lanes, array_agg(tenant) as tenants,
         array_agg(o.priority order by o.id) as priorities, array_agg(o.id order by o.id) as ids,
         array_agg(o.run_after order by o.id) as ats into again from open o;
  expired := coalesce(cardinality(again.ids), 0);
  if expired > 0 then
    perform doorbell.ring(again.lanes, again.tenants, again.priorities, again.ids, again.ats);
  end if;
end $$;

-- Rings for due jobs of these tenants whose doorbell is nowhere. How many. A job that is claimed between two of its
-- statements is not queued any more for the third, and one that comes back is not due for so long.
create or replace function doorbell.ring_lost(tenants text[], grace interval, idle_lanes text[]) returns int
language plpgsql set plan_cache_mode = force_generic_plan
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off as $$
#variable_conflict use_column
declare
  due  record;
  lost record;
begin
  select array_agg(j.tenant_id) as tenants, array_agg(j.id) as ids into due
    from (select set_config('doorbell.tenant_id', t.tenant_id, true) as tenant_id from unnest(tenants) t(tenant_id) offset 0) t
    join lateral (select j.tenant_id, j.id from doorbell.jobs j
                   where j.tenant_id collate "POSIX" = any (array[t.tenant_id]) and j.run_after < now() - grace
                     and j.state = 'queued') j on true;
  if due.ids is null then
    return 0;
  end if;

  perform set_config('doorbell.tenant_id', '*', true);
  select n.lost_tenants as tenants, n.lost_ids as ids into due from doorbell.nowhere(due.tenants, due.ids, idle_lanes) n;

  select array_agg(j.lane order by j.run_after, j.id) as lanes, array_agg(j.tenant_id order by j.run_after, j.id) as tenants,
         array_agg(j.priority order by j.run_after, j.id) as priorities, array_agg(j.id order by j.run_after, j.id) as ids into lost
    from (select set_config('doorbell.tenant_id', o.tenant_id, true) as tenant_id, o.ids
            from (select o.tenant_id collate "C" as tenant_id, array_agg(o.id order by o.id) as ids
                    from unnest(due.tenants, due.ids) o(tenant_id, id) group by 1 order by 1) o offset 0) o
    join doorbell.jobs j on j.tenant_id = any (array[o.tenant_id]) and j.id = any (o.ids)
                        and j.id >= o.ids[1] and j.id <= o.ids[cardinality(o.ids)]
   where j.state = 'queued' and j.run_after < now() - grace;
  if lost.ids is null then
    return 0;
  end if;

  perform set_config('doorbell.tenant_id', '*', true);
  perform doorbell.ring(lost.lanes, lost.tenants, lost.priorities, lost.ids);
  update doorbell.rung r set lost = true
   where (r.tenant_id, r.job_id) in (
     select r.tenant_id, r.job_id from doorbell.rung r join unnest(lost.tenants, lost.ids) l(tenant_id, job_id) using (tenant_id, job_id)
      order by r.tenant_id, r.job_id for update of r skip locked);
  return cardinality(lost.ids);
end $$;

-- Those of these jobs that have no doorbell: not in the line, not put aside, not on its way. The line is nobody's to analyse,
-- so there are no statistics: a nested loop over a long backlog is not to be had.
create or replace function doorbell.nowhere(tenants text[], ids uuid[], idle_lanes text[], out lost_tenants text[], out lost_ids uuid[])
language sql stable set enable_nestloop = off set enable_hashjoin = on set enable_seqscan = on as $$
  select array_agg(j.tenant_id), array_agg(j.job_id)
    from unnest(nowhere.tenants, nowhere.ids) j(tenant_id, job_id)
    left join doorbell.doorbells b using (tenant_id, job_id)
    left join doorbell.unhandled u using (tenant_id, job_id)
    left join doorbell.rung r
           on r.tenant_id = j.tenant_id and r.job_id = j.job_id and not r.lost
          and not (r.lane = any (idle_lanes)
                   and r.rung_at < clock_timestamp() - interval '2 s' * 2 ^ least(r.times - 1, 6))
   where b.lane is null and u.lane is null and r.lane is null
$$;

-- Under the clamp: looks at the jobs that wait, and queues those for which what they wait for has come. How many. One that
-- waits for a step is looked at again when it has waited half as long again, within bounds: they may be many, and nearly
-- always somebody has woken them. (run_after says when; of a job that waits for a person it says nothing.)
create or replace function doorbell.wake_waiting(tenant text) returns int
language plpgsql as $$
#variable_conflict use_column
declare
  again record;
begin
  with looked as (
    select w.id, doorbell.still_waits(tenant, w.id, w.attempts, w.created_at) as waits,
           least(s.until, now() + least((now() - s.at) / 2, case s.type when 'children' then interval '1 min' else interval '10 min' end)) as next
      from doorbell.jobs w
      left join lateral (select s.* from doorbell.steps s
                          where s.tenant_id = tenant and s.job_id = w.id and s.attempt = w.attempts and not s.done limit 1) s on true
     where w.tenant_id = tenant collate "POSIX" and w.run_after <= now() and w.state = 'waiting'
     order by w.id for update of w skip locked),
  open as (
    update doorbell.jobs j
       set state = case when l.waits then 'waiting' else 'queued' end, run_after = case when l.waits then l.next else now() end
      from looked l where j.tenant_id = tenant and j.id = l.id and (l.next is not null or not l.waits)
    returning j.lane, j.priority, j.id, j.state)
  select array_agg(o.lane order by o.id) as lanes, array_agg(tenant) as tenants,
         array_agg(o.priority order by o.id) as priorities, array_agg(o.id order by o.id) as ids into again
    from open o where o.state = 'queued';
  if again.ids is not null then
    perform doorbell.ring(again.lanes, again.tenants, again.priorities, again.ids);
  end if;
  return coalesce(cardinality(again.ids), 0);
end $$;
