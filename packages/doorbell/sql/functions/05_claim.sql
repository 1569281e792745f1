-- The claim decides who runs: one conditional UPDATE (functions/07_tick.sql has it). Here: what becomes of doorbells that
-- it gave no row for, and what keeps a claim. For doorbell_worker.

-- Doorbells that came to nothing, and how many of them were what:
--   stale      the job is not there, not queued, or not due: drop it;
--   unhandled  its kind is none of ours: kept for a worker that knows it, no attempt is charged;
--   missed     the job is there for the taking all the same (its rival rolled back, or the claim went wrong): rung again.
-- Another look at them, tenant by tenant, under plain clamps and with no particular plan.
create or replace function doorbell.drop_bells(tenants text[], ids uuid[], kinds text[], claimed int) returns setof doorbell.tick_row
language plpgsql as $$
#variable_conflict use_column
declare
  part      record;
  unhandled int := 0;
  missed    int := 0;
  again     record;
begin
  for part in
    select b.tenant_id, array_agg(distinct b.id) as ids from unnest(tenants, ids) b(tenant_id, id) group by 1 order by 1
  loop
    perform set_config('doorbell.tenant_id', part.tenant_id, true);
    select array_agg(j.lane) as lanes, array_agg(j.priority) as priorities, array_agg(j.id) as ids, array_agg(j.kind) as kinds,
           array_agg(j.kind = any (drop_bells.kinds)) as known
      into again
      from (select * from doorbell.jobs j
             where j.tenant_id = part.tenant_id and j.id = any (part.ids) and j.state = 'queued'
               and j.run_after <= clock_timestamp() order by j.id) j;
    continue when again.ids is null;
    insert into doorbell.unhandled (tenant_id, job_id, kind, lane)
    select part.tenant_id, j.id, j.kind, j.lane from unnest(again.ids, again.kinds, again.lanes, again.known) j(id, kind, lane, known)
     where not j.known on conflict do nothing;
    unhandled := unhandled + cardinality(array_positions(again.known, false));
    missed := missed + cardinality(array_positions(again.known, true));
    perform doorbell.ring(array_agg(j.lane), array_agg(part.tenant_id), array_agg(j.priority), array_agg(j.id))
       from unnest(again.ids, again.priorities, again.lanes, again.known) j(id, priority, lane, known) where j.known having count(*) > 0;
  end loop;

  return query
  select c.what, null::text, null::uuid, null::text, c.n, null::int, null::jsonb, null::text, null::text, null::bigint, null::text
    from (values ('stale', cardinality(ids) - claimed - unhandled - missed), ('unhandled', unhandled), ('missed', missed)) c(what, n)
   where c.n > 0;
end $$;

-- These doorbells have come back from the external queue.
create or replace function doorbell.forget_rung(tenants text[], ids uuid[], caller text) returns void
language plpgsql as $$
begin
  perform set_config('doorbell.tenant_id', case when caller <> '' then caller else '*' end, true);
  delete from doorbell.rung r
   where (r.tenant_id, r.job_id) in (
     select r.tenant_id, r.job_id from doorbell.rung r join unnest(tenants, ids) b(tenant_id, job_id) using (tenant_id, job_id)
      order by r.tenant_id, r.job_id for update of r skip locked);
end $$;

-- Keeps leases. The jobs that come back are still held by this worker, at these attempts; the others are lost, or settled.
-- A row that somebody has locked (a handler that completes its job in a long transaction) is held, and is passed over: all
-- the other leases would run out behind it. Nor can anybody take it before it is tried again.
create or replace function doorbell.extend(worker text, tenants text[], ids uuid[], attempts int[], lease_ms bigint default 30000)
returns table (tenant_id text, id uuid)
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
begin
  perform doorbell.guard(extend.tenants, caller);
  update doorbell.jobs j set lease_until = clock_timestamp() + lease_ms * interval '1 ms'
    from (select j.tenant_id, j.id
            from (select set_config('doorbell.tenant_id', o.tenant_id, true) as tenant_id, o.id, o.attempt
                    from (select * from unnest(tenants, ids, attempts) o(tenant_id, id, attempt)
                           order by o.tenant_id collate "C", o.id) o offset 0) o
            join doorbell.jobs j on j.tenant_id = any (array[o.tenant_id]) and j.id >= o.id and j.id <= o.id
           where j.state = 'claimed' and j.claimed_by = extend.worker and j.attempts = o.attempt
             for no key update of j skip locked) o
   where j.tenant_id = any (array[o.tenant_id]) and j.id >= o.id and j.id <= o.id;

  return query
  select j.tenant_id, j.id
    from (select set_config('doorbell.tenant_id', o.tenant_id, true) as tenant_id, o.id, o.attempt
            from unnest(tenants, ids, attempts) o(tenant_id, id, attempt) offset 0) o
    join doorbell.jobs j on j.tenant_id = any (array[o.tenant_id]) and j.id >= o.id and j.id <= o.id
   where j.state = 'claimed' and j.claimed_by = extend.worker and j.attempts = o.attempt;
  perform doorbell.unclamp(caller);
end $$;
