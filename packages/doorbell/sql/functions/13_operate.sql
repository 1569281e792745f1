-- What processes say of themselves, and the numbers. The numbers come from the table, not from the queue.

-- A process says that it lives. For doorbell_worker and doorbell_web.
create or replace function doorbell.beat(
  id text, role text, host text, pid int, version text, kinds text[], lanes text[], slots int, running int,
  draining boolean, doorbells_dropped bigint, app_version text default null)
returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  insert into doorbell.workers as w (id, role, host, pid, version, kinds, lanes, slots, running, draining, doorbells_dropped, app_version)
  values (beat.id, beat.role, beat.host, beat.pid, beat.version, beat.kinds, beat.lanes, beat.slots, beat.running, beat.draining, beat.doorbells_dropped, beat.app_version)
  on conflict (id) do update
     set running = excluded.running, draining = excluded.draining, doorbells_dropped = excluded.doorbells_dropped,
         seen_at = clock_timestamp()
$$;

-- A process says that it ends. Rows of processes that could not say so go a day after they were last seen.
create or replace function doorbell.sign_off(id text) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  delete from doorbell.workers w where w.id = sign_off.id or w.seen_at < now() - interval '1 day'
$$;

-- The state of everything, per kind and over all tenants, moving the clamp over the registry. With the caller's clamp
-- set: that tenant's only. `workers` counts live processes that handle the kind (0: nobody knows it). Times in seconds.
create or replace function doorbell.stats()
returns table (
  kind text, due bigint, scheduled bigint, retrying bigint, claimed bigint, stuck bigint, waiting bigint,
  oldest_due_seconds float8, dead_letters bigint, in_doubt bigint, workers bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off set enable_memoize = off as $$
#variable_conflict use_column
declare
  caller  constant text := current_setting('doorbell.tenant_id', true);
  tenants text[];
begin
  if caller <> '' then
    tenants := array[caller];
    perform doorbell.guard(tenants, caller);
  else
    perform doorbell.open_line(caller);
    tenants := array(select t.tenant_id from doorbell.tenants t union select n.tenant_id from doorbell.newcomers n order by 1);
  end if;

  return query
  select c.kind, sum(c.due)::bigint, sum(c.scheduled)::bigint, sum(c.retrying)::bigint, sum(c.claimed)::bigint, sum(c.stuck)::bigint,
         sum(c.waiting)::bigint, max(c.oldest), sum(c.dead)::bigint, sum(c.doubt)::bigint,
         (select count(*) from doorbell.workers w
           where c.kind = any (w.kinds) and w.seen_at > now() - interval '30 s' and not w.draining)
    from (select set_config('doorbell.tenant_id', t.tenant_id, true) as tenant_id from unnest(tenants) t(tenant_id) offset 0) t
   cross join lateral (
     select j.kind,
            count(*) filter (where j.state = 'queued' and j.run_after <= now()) as due,
            count(*) filter (where j.state = 'queued' and j.run_after > now()) as scheduled,
            count(*) filter (where j.state = 'queued' and j.attempts > 0) as retrying,
            count(*) filter (where j.state = 'claimed') as claimed,
            count(*) filter (where j.state = 'claimed' and j.lease_until < now()) as stuck,
            count(*) filter (where j.state = 'waiting') as waiting,
            extract(epoch from now() - min(j.run_after) filter (where j.state = 'queued' and j.run_after <= now()))::float8 as oldest,
            0 as dead,
            (count(*) filter (where j.state = 'waiting' and doorbell.in_doubt(t.tenant_id, j.id))) as doubt
       from doorbell.jobs j where j.tenant_id = any (array[t.tenant_id]) group by j.kind
      union all
     select d.kind, 0, 0, 0, 0, 0, 0, null, count(*), 0
       from doorbell.dead_letters d where d.tenant_id = any (array[t.tenant_id]) group by d.kind) c
   group by c.kind order by c.kind;
  perform doorbell.unclamp(caller);
end $$;

-- Whether the moving clamp does on this server, with its version and settings, what it must: one statement claims the
-- canaries of three tenants. They are never seen by anyone: the block is rolled back before it ends.
create or replace function doorbell.canary() returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
  names  constant text[] := array['doorbell:canary:1', 'doorbell:canary:2', 'doorbell:canary:3'];
  ids     uuid[];
  claimed int;
begin
  perform doorbell.open_line(caller);
  perform doorbell.unclamp(caller);
  begin
    ids := array(select e.job_id from unnest(names) t(tenant), lateral doorbell.enqueue(t.tenant, 'doorbell.canary') e);
    select count(*) into claimed
      from doorbell.claim('doorbell:canary', names, ids, array['doorbell.canary'], 1000) c where c.what = 'claimed';
    raise exception 'undo' using errcode = 'DB000';
  exception when sqlstate 'DB000' then
    return claimed = 3;
  end;
end $$;
