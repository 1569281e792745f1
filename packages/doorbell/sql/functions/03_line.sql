-- The line: who is served next. Start-time fair queueing, one order per lane over all tenants.
--
-- A doorbell's turn is a point in virtual time, fixed when it rings, and the lowest turn is popped first. A flow (a
-- tenant's doorbells of one priority in one lane) advances one step, 2^20 / (weight * 2^priority), with each doorbell
-- that it has in the line; a flow that has none starts at the clock. So 100,000 doorbells of one tenant stand behind the
-- next one of anybody else, and idle time is no credit. Priority is a weight: urgent passes, nothing starves.
--
-- All of this runs under the clamp '*' or, for one tenant's own doorbells, under its clamp. Nobody is granted these
-- functions but for add_lane, take and put_back.

-- Makes a lane, if it is not there. Its sequences are UNLOGGED: a crash resets them together with the line.
create or replace function doorbell.add_lane(lane text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  n int;
begin
  if exists (select from doorbell.lanes l where l.lane = add_lane.lane) then
    return;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('doorbell.lanes', 0));
  if exists (select from doorbell.lanes l where l.lane = add_lane.lane) then
    return;
  end if;
  select count(*) into n from doorbell.lanes;
  if n >= 100 then
    raise exception 'doorbell: there are 100 lanes already; lane "%" was not added', add_lane.lane using errcode = '54000';
  end if;
  execute format('create unlogged sequence doorbell.lane_%s_clock', n);
  execute format('create unlogged sequence doorbell.lane_%s_reached', n);
  execute format('create unlogged sequence doorbell.lane_%s_looked', n);
  insert into doorbell.lanes (lane, clock, reached, looked)
  values (add_lane.lane, format('doorbell.lane_%s_clock', n), format('doorbell.lane_%s_reached', n), format('doorbell.lane_%s_looked', n));
end $$;

create or replace function doorbell.require_lane(lane text) returns doorbell.lanes
language plpgsql stable as $$
declare
  found_lane doorbell.lanes;
begin
  select l.* into found_lane from doorbell.lanes l where l.lane = require_lane.lane;
  if not found then
    raise exception 'doorbell: there is no lane "%"; workers make the lanes that they serve, or call doorbell.add_lane', lane
      using errcode = '22023';
  end if;
  return found_lane;
end $$;

-- How far one doorbell moves its flow on.
create or replace function doorbell.step(weight float8, priority int) returns bigint
language sql immutable as $$
  select greatest(1, 1048576 / (coalesce(weight, 1) * 2 ^ greatest(-8, least(8, priority))))::bigint
$$;

-- Rings for many jobs, each flow's in the order given; later than now: sets an alarm instead.
--
-- A flow's next turn is behind its last doorbell in the line, and never before the clock. No lock is taken. The search ends
-- at what has been popped, so that dead entries are not walked; without sorts, and with `nulls first` in doorbells_line,
-- there is no plan but the end of this flow in doorbells_flow.
create or replace function doorbell.ring(lanes text[], tenants text[], priorities int[], ids uuid[], ring_ats timestamptz[] default null)
returns void language plpgsql set plan_cache_mode = force_generic_plan set enable_sort = off set enable_seqscan = off as $$
begin
  insert into doorbell.doorbells (lane, tenant_id, priority, job_id, ring_at)
  select b.lane, b.tenant_id, b.priority, b.id, b.ring_at
    from unnest(lanes, tenants, priorities, ids, ring_ats) b(lane, tenant_id, priority, id, ring_at)
   where b.ring_at > clock_timestamp();

  insert into doorbell.doorbells (lane, turn, tenant_id, priority, job_id)
  select f.lane, f.start + (b.k - 1) * f.step, f.tenant_id, f.priority, b.id
    from (select f.*, greatest(nextval(l.clock), last.turn + f.step) as start
            from (select b.lane, b.tenant_id, b.priority, array_agg(b.id order by b.n) as ids,
                         doorbell.step(min(t.weight), b.priority) as step
                    from unnest(lanes, tenants, priorities, ids, ring_ats) with ordinality b(lane, tenant_id, priority, id, ring_at, n)
                    left join doorbell.tenants t using (tenant_id)
                   where (b.ring_at > clock_timestamp()) is not true
                   group by 1, 2, 3) f
            join doorbell.lanes l using (lane)
            left join lateral (
              select b.turn from doorbell.doorbells b
               where b.tenant_id = f.tenant_id and b.lane = f.lane and b.priority = f.priority
                 and b.turn > coalesce(pg_sequence_last_value(l.reached), 0)
               order by b.turn desc limit 1) last on true offset 0) f
   cross join lateral unnest(f.ids) with ordinality b(id, k);
end $$;

-- Gives up to n alarms of a lane that have come due since then their turn. How many it found.
create or replace function doorbell.ring_alarms(lane text, n int, since timestamptz) returns int
language plpgsql set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
declare
  until      constant timestamptz := clock_timestamp();   -- as a call it could not end the search: every alarm would be walked
  tenants    text[];
  priorities int[];
  ids        uuid[];
begin
  with due as (
    delete from doorbell.doorbells b
     where b.ctid = any (array(select b.ctid from doorbell.doorbells b
                                where b.lane = ring_alarms.lane and b.turn is null
                                  and b.ring_at > since and b.ring_at <= until
                                order by b.ring_at limit n for update skip locked))
    returning b.tenant_id, b.priority, b.job_id, b.ring_at)
  select array_agg(d.tenant_id order by d.ring_at), array_agg(d.priority order by d.ring_at),
         array_agg(d.job_id order by d.ring_at)
    into tenants, priorities, ids from due d;
  if ids is not null then
    perform doorbell.ring(array_fill(ring_alarms.lane, array[cardinality(ids)]), tenants, priorities, ids);
  end if;
  return coalesce(cardinality(ids), 0);
end $$;

-- Takes up to n doorbells of a lane out, the lowest turns first. Alarms that are due get their turn before that.
--
-- The line is entered where it had been popped to a moment ago, not at its beginning, which may be littered with dead
-- entries that vacuum cannot take away while some transaction holds the horizon. A doorbell may still turn up behind
-- that point: its transaction committed late, or the tick that took it rolled back. So pops look back, twice 2^k ms
-- whenever a multiple of 2^k ms has passed: half of the looks reach back 32 ms, a quarter 64 ms, and so on; once in two
-- minutes the whole line. A doorbell that came D ms late waits at most 2 D more, and every dead entry is walked a dozen
-- times in all. Alarms are looked for in the same looks, as far back.
create or replace function doorbell.pop_lane(l doorbell.lanes, n int, out tenants text[], out ids uuid[])
language plpgsql set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
declare
  name    constant text := l.lane;
  reached constant bigint := coalesce(pg_sequence_last_value(l.reached), 0);   -- before the time is read
  ms      constant bigint := extract(epoch from clock_timestamp()) * 1000;
  looked  constant bigint := coalesce(pg_sequence_last_value(l.looked), 0);
  back    bigint := 32;
  again   boolean := false;
  entry   bigint;
  last    bigint;
begin
  if ms >= looked + 16 or ms < looked - 1000 then         -- or the system's clock was set back
    perform setval(l.looked, ms);
    insert into doorbell.milestones (lane, at, turn) values (name, ms, reached);
    back := 2 ^ (1 + floor(ln(ms # looked) / ln(2)));
    again := doorbell.ring_alarms(name, n, case when back < 131072 then to_timestamp((ms - back) / 1000.0) else '-infinity' end) = n;
  end if;
  if back < 131072 then
    select m.turn into entry from doorbell.milestones m where m.lane = name and m.at <= ms - back order by m.at desc limit 1;
  else
    delete from doorbell.milestones m where m.lane = name and m.at < ms - 131072;
  end if;

  with taken as (
    delete from doorbell.doorbells b
     where b.ctid = any (array(select b.ctid from doorbell.doorbells b
                                where b.lane = name and b.turn >= coalesce(entry, 0)
                                order by b.turn nulls first limit n for update skip locked))
    returning b.tenant_id, b.job_id, b.turn)
  select array_agg(t.tenant_id order by t.turn), array_agg(t.job_id order by t.turn), max(t.turn) into tenants, ids, last from taken t;

  -- As much as was asked for, and all of it from behind: there may be more. The next pop looks as far back.
  if again or (back > 32 and last <= reached and cardinality(ids) = n) then
    perform setval(l.looked, greatest(looked, 1));
  end if;

  -- A flow whose only doorbell was popped forgets where it was. A quarter of a step ahead, it can come back at once
  -- four times, and no more, before any other flow's next doorbell.
  if last > coalesce(pg_sequence_last_value(l.reached), 0) then
    perform setval(l.reached, last);
  end if;
  if last + 262144 > coalesce(pg_sequence_last_value(l.clock), 0) then
    perform setval(l.clock, last + 262144);
  end if;
end $$;

-- Takes up to n doorbells from these lanes, served in the order given, after those that were waiting for a worker that
-- knows their kind. The caller has opened the line. ids is null when there are none.
create or replace function doorbell.pop(lanes text[], kinds text[], n int, out tenants text[], out ids uuid[])
language plpgsql set enable_seqscan = off as $$
#variable_conflict use_column
declare
  name text;
  part record;
begin
  with known as (
    delete from doorbell.unhandled u
     where u.ctid = any (array(select u.ctid from doorbell.unhandled u
                                where u.kind = any (kinds) and u.lane = any (lanes) limit n for update skip locked))
    returning u.tenant_id, u.job_id)
  select array_agg(k.tenant_id), array_agg(k.job_id) into tenants, ids from known k;

  foreach name in array lanes loop
    exit when cardinality(ids) >= n;
    part := doorbell.pop_lane(doorbell.require_lane(name), n - coalesce(cardinality(ids), 0));
    tenants := tenants || part.tenants;
    ids := ids || part.ids;
  end loop;
end $$;

-- How many doorbells of a lane an external queue may still be given. It holds twice as many as the live workers of the
-- lane have slots, and a hundred: enough that none of them waits, and few enough that the order is made here, and that a
-- queue that is purged loses little.
create or replace function doorbell.room(lane text) returns int
language sql stable as $$
  select (select 100 + 2 * coalesce(sum(w.slots), 0)::int from doorbell.workers w
           where room.lane = any (w.lanes) and w.seen_at > now() - interval '30 s' and not w.draining)
       - (select count(*)::int from doorbell.rung r where r.lane = room.lane and not r.lost)
$$;

-- For an external queue: takes up to n doorbells of a lane out in the fair order, as far as there is room, and remembers
-- that they are on their way.
create or replace function doorbell.take(lane text, n int) returns table (tenant_id text, job_id uuid)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
  known  record;
  bells  record;
begin
  perform doorbell.open_line(caller);
  n := least(n, doorbell.room(take.lane));
  if n > 0 then
    -- Those that nobody knew what to do with, and somebody does now.
    with found as (
      delete from doorbell.unhandled u
       where u.ctid = any (array(select u.ctid from doorbell.unhandled u
                                  where u.lane = take.lane
                                    and u.kind in (select unnest(w.kinds) from doorbell.workers w
                                                    where take.lane = any (w.lanes) and w.seen_at > now() - interval '30 s')
                                  limit n for update skip locked))
      returning u.tenant_id, u.job_id)
    select array_agg(f.tenant_id) as tenants, array_agg(f.job_id) as ids, count(*)::int as n into known from found f;
    if known.n > 0 then
      perform doorbell.ring(array_fill(take.lane, array[known.n]), known.tenants, array_fill(0, array[known.n]), known.ids);
    end if;

    bells := doorbell.pop_lane(doorbell.require_lane(take.lane), n);
    insert into doorbell.rung as r (tenant_id, job_id, lane)
    select distinct b.tenant_id, b.job_id, take.lane from unnest(bells.tenants, bells.ids) b(tenant_id, job_id) order by 1, 2
    on conflict (tenant_id, job_id) do update set lane = excluded.lane, rung_at = clock_timestamp(), times = r.times + 1, lost = false;
    return query select b.tenant_id, b.job_id from unnest(bells.tenants, bells.ids) b(tenant_id, job_id);
  end if;
  perform doorbell.unclamp(caller);
end $$;

-- They were taken, and the queue did not take them: in the line again, those whose jobs are still due.
create or replace function doorbell.put_back(tenants text[], ids uuid[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
  part   record;
begin
  perform doorbell.open_line(caller);
  perform doorbell.forget_rung(tenants, ids, caller);
  for part in
    select b.tenant_id, array_agg(distinct b.id) as ids from unnest(tenants, ids) b(tenant_id, id) group by 1 order by 1
  loop
    perform set_config('doorbell.tenant_id', part.tenant_id, true);
    perform doorbell.ring(array_agg(j.lane), array_agg(part.tenant_id), array_agg(j.priority), array_agg(j.id))
       from (select * from doorbell.jobs j
              where j.tenant_id = part.tenant_id and j.id = any (part.ids) and j.state = 'queued' order by j.run_after, j.id) j
     having count(*) > 0;
  end loop;
  perform doorbell.unclamp(caller);
end $$;
