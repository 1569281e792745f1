-- Steps: what a run of a job computes once, and what it waits for. For doorbell_worker; events for whoever may enqueue.
--
-- A job that waits is a row: no slot, no connection, no lease, and the attempt is given back. The statement that finds that
-- there is something to wait for ends the attempt itself, so nothing can come in between. Sleeping is `queued`, due when the
-- sleep is over. Waiting for an event or for children is `waiting`, until that wakes the job; and under both is the sweep.

-- The row of this attempt, locked; all null: the lease is gone. Under the clamp.
create or replace function doorbell.hold_attempt(worker text, tenant text, id uuid, attempt int) returns doorbell.jobs
language plpgsql as $$
declare
  job doorbell.jobs;
begin
  select j.* into job from doorbell.jobs j
   where j.tenant_id = tenant and j.id = hold_attempt.id and j.state = 'claimed' and j.claimed_by = hold_attempt.worker and j.attempts = hold_attempt.attempt
     for update;
  return job;
end $$;

-- Ends the attempt of this job, which the caller holds, and lets it wait for this step. False: its attempts have
-- reached the cap, up to which they are given back. Under the clamp.
create or replace function doorbell.put_to_wait(job doorbell.jobs, step doorbell.steps, state text, run_after timestamptz) returns boolean
language plpgsql as $$
declare
  cap constant int := doorbell.max_attempts_cap();
begin
  if job.attempts >= cap then
    return false;
  end if;
  update doorbell.jobs j
     set state = put_to_wait.state, run_after = put_to_wait.run_after, claimed_by = null, lease_until = null,
         max_attempts = least(j.max_attempts + 1, cap)
   where j.tenant_id = job.tenant_id and j.id = job.id;
  update doorbell.steps s set attempt = job.attempts
   where s.tenant_id = job.tenant_id and s.job_id = job.id and s.key = step.key;
  insert into doorbell.attempts (tenant_id, job_id, attempt, outcome, worker, started_at, error_code, error, ended_at)
  values (job.tenant_id, job.id, job.attempts, case step.type when 'sleep' then 'snooze' else 'wait' end, job.claimed_by, job.claimed_at,
          'step', case step.type when 'sleep' then format('sleeps: %s', step.key) when 'event' then format('waits for event %s', step.event)
                                 else format('waits for its children: %s', step.key) end, clock_timestamp());
  if put_to_wait.state = 'queued' then
    perform doorbell.ring(array[job.lane], array[job.tenant_id], array[job.priority], array[job.id], array[put_to_wait.run_after]);
  end if;
  return true;
end $$;

-- Whether what a job in state `waiting` waits for has not come yet: the step that its last attempt ended for, or, where there
-- is none, a person's answer about its effects. Under the clamp.
create or replace function doorbell.still_waits(tenant text, job uuid, attempt int, created_at timestamptz) returns boolean
language plpgsql stable as $$
declare
  step doorbell.steps;
begin
  select s.* into step from doorbell.steps s
   where s.tenant_id = tenant and s.job_id = job and s.attempt = still_waits.attempt and not s.done limit 1;
  if not found then
    return doorbell.in_doubt(tenant, job);
  elsif step.type = 'event' then
    return coalesce(step.until > clock_timestamp(), true)
       and (doorbell.next_event(tenant, job, step.event, still_waits.created_at)).id is null;
  end if;
  return step.type = 'children' and doorbell.has_open_children(tenant, job, step.key);
end $$;

-- Whether the sweep is to look at this job in state `waiting`, which is due for a look. Under the clamp.
create or replace function doorbell.is_to_be_looked_at(tenant text, job uuid, attempt int) returns boolean
language plpgsql stable as $$
begin
  return exists (select from doorbell.steps s
                  where s.tenant_id = tenant and s.job_id = job and s.attempt = is_to_be_looked_at.attempt and not s.done)
      or not doorbell.in_doubt(tenant, job);
end $$;


-- ── memoised values ───────────────────────────────────────────────────────────────────────────────────────────────

-- What is stored under these keys; a position that does not come back has nothing.
create or replace function doorbell.find_steps(tenants text[], ids uuid[], keys text[])
returns table (n bigint, type text, value jsonb)
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
begin
  perform doorbell.guard(find_steps.tenants, caller);
  return query
  select w.n, s.type, s.value
    from (select set_config('doorbell.tenant_id', w.tenant_id, true) as tenant_id, w.id, w.key, w.n
            from unnest(tenants, ids, keys) with ordinality w(tenant_id, id, key, n) offset 0) w
    join lateral (
      select s.type, s.value from doorbell.steps s
       where s.tenant_id = any (array[w.tenant_id]) and s.job_id >= w.id and s.job_id <= w.id and s.key = any (array[w.key])
      offset 0) s on true;
  perform doorbell.unclamp(caller);
end $$;

-- Stores values, each fenced on its attempt. The positions that come back are those whose lease stood.
create or replace function doorbell.keep_steps(worker text, tenants text[], ids uuid[], attempts int[], keys text[], "values" jsonb[])
returns setof bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
  held   bigint[];
begin
  perform doorbell.guard(keep_steps.tenants, caller);
  perform doorbell.check_size(v, 'a step''s value') from unnest("values") v where v is not null;
  select array_agg(h.n) into held from (
    select o.n
      from (select set_config('doorbell.tenant_id', o.tenant_id, true) as tenant_id, o.id, o.attempt, o.n
              from (select * from unnest(tenants, ids, attempts) with ordinality o(tenant_id, id, attempt, n)
                     order by o.tenant_id collate "C", o.id) o offset 0) o
      join doorbell.jobs j on j.tenant_id = any (array[o.tenant_id]) and j.id >= o.id and j.id <= o.id
     where j.state = 'claimed' and j.claimed_by = keep_steps.worker and j.attempts = o.attempt
       for share of j) h;
  insert into doorbell.steps (tenant_id, job_id, key, type, done, attempt, value)
  select set_config('doorbell.tenant_id', o.tenant_id, true), o.id, o.key, 'step', true, o.attempt, o.value
    from (select * from unnest(tenants, ids, attempts, keys, "values") with ordinality o(tenant_id, id, attempt, key, value, n)
           where o.n = any (held) order by o.tenant_id collate "C", o.id, o.key collate "C") o
  on conflict do nothing;      -- sent again after an answer that was lost
  perform doorbell.unclamp(caller);
  return query select unnest(held);
end $$;


-- ── sleeping, and waiting for events ──────────────────────────────────────────────────────────────────────────────
--
-- Nothing falls between a wait and an event that come at the same time. An emitter holds a lock on the name (shared, until
-- it commits) before it looks who waits; a waiter holds it alone before it looks what has come. So one of them sees the
-- other. A waiter does not wait for an emitter's transaction, which is the application's and may be long: it lets its job
-- come back after a moment, and look again. There are 1,024 locks, so that no transaction can hold too many.

create or replace function doorbell.lock_event(tenant text, event text, alone boolean) returns void
language plpgsql as $$
declare
  class constant int := hashtext('doorbell.events');
  slot  constant int := hashtext(tenant || ' ' || event) & 1023;
begin
  if alone then
    perform pg_advisory_xact_lock(class, slot);
  else
    perform pg_advisory_xact_lock_shared(class, slot);
  end if;
end $$;

-- The oldest event of this name that came since the job was created, and that this run of it has not been given. Under the clamp.
create or replace function doorbell.next_event(tenant text, job uuid, event text, since timestamptz) returns doorbell.events
language plpgsql stable as $$
declare
  first doorbell.events;
begin
  select e.* into first from doorbell.events e
   where e.tenant_id = tenant and e.event = next_event.event and e.at >= since
     and not exists (select from doorbell.steps s where s.tenant_id = tenant and s.job_id = job and s.event_id = e.id)
   order by e.at, e.id limit 1;
  return first;
end $$;

-- Waits for an event, at most so long (null: for ever), or just so long where there is no event. Verdicts:
--   over       go on: the sleep is over, or here is the event (value, emitted_at)
--   timeout    none came in time
--   waiting    the attempt has ended; the job comes back (due_ms: after so long, if that is known)
--   changed    the key has been used for something else in this run
--   spent      the job has waited as often as a job can
--   busy       somebody else holds the row: nothing was done
--   lost       the lease is gone
create or replace function doorbell.wait_for(
  worker text, tenant text, id uuid, attempt int, key text, event text, wait_ms bigint,
  out verdict text, out value jsonb, out emitted_at timestamptz, out due_ms bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '50ms' as $$
#variable_conflict use_column
declare
  caller    constant text := current_setting('doorbell.tenant_id', true);
  contended boolean := false;
  job       doorbell.jobs;
  step      doorbell.steps;
  came      doorbell.events;
  due       timestamptz;
begin
  perform doorbell.clamp(tenant, caller);
  if wait_for.event is not null then
    perform doorbell.check_event(wait_for.event);
    begin
      perform doorbell.lock_event(tenant, wait_for.event, true);
    exception when lock_not_available then
      contended := true;
    end;
  end if;
  begin
    job := doorbell.hold_attempt(worker, tenant, wait_for.id, wait_for.attempt);
  exception when lock_not_available then
    verdict := 'busy';
  end;
  if verdict is null and job.id is null then
    verdict := 'lost';
  end if;

  if verdict is null then
    insert into doorbell.steps as s (tenant_id, job_id, key, type, done, attempt, event, until)
    values (tenant, job.id, wait_for.key, case when wait_for.event is null then 'sleep' else 'event' end, false, 0, wait_for.event,
            clock_timestamp() + wait_ms * interval '1 ms')
    on conflict do nothing;
    select s.* into step from doorbell.steps s where s.tenant_id = tenant and s.job_id = job.id and s.key = wait_for.key;
    if step.type not in ('sleep', 'event') or step.event is distinct from wait_for.event then
      verdict := 'changed';
    elsif not step.done then
      if step.event is not null then
        came := doorbell.next_event(tenant, job.id, step.event, job.created_at);
      end if;
      if came.id is not null or step.until <= clock_timestamp() then
        update doorbell.steps s set done = true, attempt = job.attempts, value = came.payload, event_id = came.id
         where s.tenant_id = tenant and s.job_id = job.id and s.key = step.key
        returning s.* into step;
      else
        due := case when step.event is null then step.until
                    when contended then least(step.until, clock_timestamp()
                      + greatest(interval '50 ms', least(interval '5 s', (clock_timestamp() - step.at) / 2))) end;
        if doorbell.put_to_wait(job, step, case when due is null then 'waiting' else 'queued' end, coalesce(due, now())) then
          verdict := 'waiting';
          due_ms := case when due is not null then greatest(0, extract(epoch from due - clock_timestamp()) * 1000) end;
        else
          verdict := 'spent';
        end if;
      end if;
    end if;
  end if;
  if verdict is null then
    verdict := case when step.event is not null and step.event_id is null then 'timeout' else 'over' end;
    value := step.value;
    select e.at into emitted_at from doorbell.events e
     where e.tenant_id = tenant and e.event = step.event and e.id = step.event_id;
  end if;
  perform doorbell.unclamp(caller);
end $$;

create or replace function doorbell.check_event(event text) returns void
language plpgsql as $$
begin
  if event is null or event = '' or octet_length(event) > 500 then
    raise exception 'doorbell: the name of an event has 1 to 500 bytes' using errcode = '22023';
  end if;
end $$;

-- Tells that something has happened: to every job of the tenant that waits for it, and to those created before now that will.
-- In the caller's transaction, like enqueue. How many were waiting, and in which lanes they are in the line now.
create or replace function doorbell.emit(tenant text, event text, payload jsonb default null, out woken int, out lanes text[])
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
  again  record;
begin
  perform doorbell.clamp(tenant, caller);
  perform doorbell.check_event(emit.event);
  perform doorbell.check_size(emit.payload, format('the payload of event "%s"', emit.event));
  perform doorbell.lock_event(tenant, emit.event, false);
  insert into doorbell.events (tenant_id, event, at, id, payload)
  values (tenant, emit.event, clock_timestamp(), doorbell.new_id(), emit.payload);
  with open as (
    update doorbell.jobs j set state = 'queued', run_after = now()
     where j.tenant_id = tenant and j.state = 'waiting' and j.id = any (array(
       select j.id from doorbell.steps s join doorbell.jobs j on j.tenant_id = s.tenant_id and j.id = s.job_id
        where s.tenant_id = tenant and s.event = emit.event and not s.done and j.state = 'waiting' and j.attempts = s.attempt
        order by j.id for update of j))
    returning j.lane, j.priority, j.id)
  select array_agg(o.lane order by o.id) as lanes, array_agg(tenant) as tenants,
         array_agg(o.priority order by o.id) as priorities, array_agg(o.id order by o.id) as ids into again from open o;
  woken := coalesce(cardinality(again.ids), 0);
  lanes := array(select distinct unnest(again.lanes));
  if woken > 0 then
    perform doorbell.ring(again.lanes, again.tenants, again.priorities, again.ids);
  end if;
  perform doorbell.unclamp(caller);
end $$;


-- ── children ──────────────────────────────────────────────────────────────────────────────────────────────────────

-- The id of a child: always the same for the same parent, key and name; with its parent's time, so that they are listed
-- together; and of version 8, so that whoever settles a job knows, without looking, that somebody may wait for it.
create or replace function doorbell.child_id(parent uuid, key text, name text) returns uuid
language sql immutable as $$
  select encode(set_byte(set_byte(b.bytes, 6, get_byte(b.bytes, 6) & 15 | 128), 8, get_byte(b.bytes, 8) & 63 | 128), 'hex')::uuid
    from (select overlay(substring(sha256(uuid_send(parent) || convert_to(octet_length(key) || ':' || key || name, 'UTF8')) from 1 for 16)
                         placing substring(uuid_send(parent) from 1 for 6) from 1 for 6) as bytes) b
$$;

-- Whether a child of this step has not settled. Under the clamp.
create or replace function doorbell.has_open_children(tenant text, parent uuid, key text) returns boolean
language plpgsql stable as $$
begin
  return exists (select from doorbell.children c join doorbell.jobs j on j.tenant_id = c.tenant_id and j.id = c.child_id
                  where c.tenant_id = tenant and c.parent_id = parent and c.key = has_open_children.key and c.n is not null);
end $$;

-- Enqueues the children of a step that are not there yet, one for each name, and waits until all have settled. `jobs` are
-- elements of enqueue_many, in the order of the names; tenant and id are given to them here. Verdicts as of wait_for, in one
-- row; or `over` in a row for each child, in order. state null: its time is over, and nothing is known of it any more.
create or replace function doorbell.spawn(worker text, tenant text, id uuid, attempt int, key text, names text[], jobs json)
returns table (verdict text, child_id uuid, kind text, state text, result jsonb, error text, error_code text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
  job    doorbell.jobs;
  step   doorbell.steps;
  fresh  json;
  answer text;
begin
  perform doorbell.clamp(tenant, caller);
  job := doorbell.hold_attempt(worker, tenant, spawn.id, spawn.attempt);
  select s.* into step from doorbell.steps s where s.tenant_id = tenant and s.job_id = spawn.id and s.key = spawn.key;
  if job.id is null then
    answer := 'lost';
  elsif step.type <> 'children' or step.children <> cardinality(names) then
    answer := 'changed';
  elsif step.key is null then
    insert into doorbell.steps (tenant_id, job_id, key, type, done, attempt, children)
    values (tenant, job.id, spawn.key, 'children', false, 0, cardinality(names)) returning * into step;
    select json_agg(j.job::jsonb || jsonb_build_object('tenant', tenant, 'id', doorbell.child_id(spawn.id, spawn.key, w.name)) order by w.n) into fresh
      from unnest(names) with ordinality w(name, n) join json_array_elements(jobs) with ordinality j(job, n) using (n)
     where not exists (select from doorbell.children c
                        where c.tenant_id = tenant and c.parent_id = spawn.id and c.key = spawn.key and c.name = w.name);
    update doorbell.children c set n = null where c.tenant_id = tenant and c.parent_id = spawn.id and c.key = spawn.key;
    insert into doorbell.children (tenant_id, parent_id, key, name, n, child_id)
    select tenant, spawn.id, spawn.key, w.name, w.n, doorbell.child_id(spawn.id, spawn.key, w.name)
      from unnest(names) with ordinality w(name, n)
    on conflict (tenant_id, parent_id, key, name) do update set n = excluded.n;
    if fresh is not null then
      perform doorbell.enqueue_many(fresh);
    end if;
  end if;

  if answer is null and doorbell.has_open_children(tenant, spawn.id, spawn.key) then
    update doorbell.steps s set done = false where s.tenant_id = tenant and s.job_id = spawn.id and s.key = spawn.key and s.done;
    answer := case when doorbell.put_to_wait(job, step, 'waiting', now()) then 'waiting' else 'spent' end;
  end if;
  if answer is null then
    update doorbell.steps s set done = true, attempt = job.attempts
     where s.tenant_id = tenant and s.job_id = spawn.id and s.key = spawn.key and not s.done;
    return query
    select 'over', c.child_id, a.kind, a.state, a.result, a.last_error, a.error_code
      from doorbell.children c
      left join lateral (select * from doorbell.all_jobs a where a.tenant_id = c.tenant_id and a.id = c.child_id) a on true
     where c.tenant_id = tenant and c.parent_id = spawn.id and c.key = spawn.key and c.n is not null order by c.n;
  else
    return query select answer, null::uuid, null::text, null::text, null::jsonb, null::text, null::text;
  end if;
  perform doorbell.unclamp(caller);
end $$;

-- These children have settled: queues the parents that wait for nothing else. For whoever settled them, after that commit, so
-- that of two that settle at once the later sees both. It waits for a parent that is just going to wait. The lanes that it rang in.
create or replace function doorbell.wake_parents(tenants text[], ids uuid[]) returns setof text
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '1s' as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
  part   record;
  again  record;
begin
  perform doorbell.guard(wake_parents.tenants, caller);
  for part in
    select c.tenant_id collate "C" as tenant_id, array_agg(c.id) as ids from unnest(tenants, ids) c(tenant_id, id) group by 1 order by 1
  loop
    perform set_config('doorbell.tenant_id', part.tenant_id, true);
    select array_agg(distinct c.parent_id) as parents into again from doorbell.children c
     where c.tenant_id = part.tenant_id and c.child_id = any (part.ids);
    continue when again.parents is null;
    perform from doorbell.jobs j where j.tenant_id = part.tenant_id and j.id = any (again.parents) order by j.id for update;
    with open as (
      update doorbell.jobs j set state = 'queued', run_after = now()
       where j.tenant_id = part.tenant_id and j.id = any (again.parents) and j.state = 'waiting'
         and not doorbell.still_waits(part.tenant_id, j.id, j.attempts, j.created_at)
      returning j.lane, j.priority, j.id)
    select array_agg(o.lane order by o.id) as lanes, array_agg(part.tenant_id) as tenants,
           array_agg(o.priority order by o.id) as priorities, array_agg(o.id order by o.id) as ids into again from open o;
    if again.ids is not null then
      perform doorbell.ring(again.lanes, again.tenants, again.priorities, again.ids);
      return query select distinct unnest(again.lanes);
    end if;
  end loop;
  perform doorbell.unclamp(caller);
end $$;
