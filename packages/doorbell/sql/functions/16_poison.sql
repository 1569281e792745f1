-- Poison: what keeps one failure from costing more than itself. Called by the tick, settle and the sweep; breakers are closed
-- by hand with close_breaker, for doorbell_web and doorbell_worker.
--
-- A breaker belongs to a kind of one tenant. It opens when `breaker_failures` different jobs have failed in the same way within
-- `breaker_window_ms`, and none has succeeded in between. While it is open the claim does not touch those jobs: they stay
-- queued, lose no attempt, and their doorbells are alarms for the end of the pause. When that is over, one job is let through.
-- Its success closes the breaker; its failure, or its silence, begins the next pause, twice as long, up to 15 minutes.
--
-- Nobody waits here for a lock: a tick that did could deadlock with another that claims what it settles. What somebody else
-- is just changing is left to the next failure, success or claim.

-- How long the pause is that begins now.
create or replace function doorbell.breaker_pause(times int) returns interval
language sql stable as $$
  select least(900000, (doorbell.setting('breaker_pause_ms'))::int * 2 ^ least(times - 1, 10)) * interval '1 ms'
$$;

-- After a settle, in its transaction: counts failures, opens breakers, and closes them. Moves the clamp; the caller gives it back.
create or replace function doorbell.judge(worker text, tenants text[], ids uuid[], attempts int[], outcomes text[], fingerprints text[])
returns void language plpgsql as $$
#variable_conflict use_column
declare
  many   constant int := doorbell.setting('breaker_failures');
  span   constant interval := (doorbell.setting('breaker_window_ms'))::int * interval '1 ms';
  marked constant text[] := array(select distinct f.tenant_id from doorbell.failures f)
                         || array(select b.tenant_id from doorbell.breakers b);   -- the line is open: all tenants'
  part   record;
  done   text[];
  failed record;
  n      int;
begin
  if many = 0 then
    return;   -- switched off
  end if;
  for part in
    select o.tenant_id, array_agg(o.id) as ids, array_agg(o.attempt) as attempts, array_agg(coalesce(o.outcome, 'done')) as outcomes,
           array_agg(o.fingerprint) as fingerprints
      from unnest(tenants, judge.ids, judge.attempts, judge.outcomes, judge.fingerprints) o(tenant_id, id, attempt, outcome, fingerprint)
     where o.tenant_id = any (marked) or (o.outcome in ('failed', 'retry') and o.fingerprint is not null)
     group by 1 order by 1
  loop
    perform set_config('doorbell.tenant_id', part.tenant_id, true);
    if part.tenant_id = any (marked) and 'done' = any (part.outcomes) then
      done := array(select distinct h.kind from doorbell.job_history h
                     where h.tenant_id = part.tenant_id and h.id = any (part.ids) and h.state = 'done' and h.finished_at >= now());
      delete from doorbell.failures f where f.ctid = any (array(
        select f.ctid from doorbell.failures f where f.tenant_id = part.tenant_id and f.kind = any (done) for update skip locked));
      perform doorbell.end_breakers(part.tenant_id, done);
    end if;

    for failed in
      insert into doorbell.failures (tenant_id, kind, fingerprint, job_id, error)
      select part.tenant_id, coalesce(j.kind, d.kind), o.fingerprint, o.id, a.error
        from unnest(part.ids, part.attempts, part.outcomes, part.fingerprints) o(id, attempt, outcome, fingerprint)
        join doorbell.attempts a on a.tenant_id = part.tenant_id and a.job_id = o.id and a.attempt = o.attempt
                                and a.outcome in ('failed', 'retry') and a.ended_at >= now()   -- the fence let it in
        left join doorbell.jobs j on j.tenant_id = part.tenant_id and j.id = o.id
        left join doorbell.dead_letters d on d.tenant_id = part.tenant_id and d.id = o.id
       where o.outcome in ('failed', 'retry') and o.fingerprint is not null and coalesce(j.kind, d.kind) is not null
       order by o.id
      returning kind, fingerprint, job_id, left(error, 500) as error
    loop
      if exists (select from doorbell.breakers b where b.tenant_id = part.tenant_id and b.kind = failed.kind) then
        update doorbell.breakers b   -- the one that was let through has failed as well
           set times = b.times + 1, held_until = clock_timestamp() + doorbell.breaker_pause(b.times + 1), probe = null,
               fingerprint = failed.fingerprint, error = failed.error, changed_at = now(), changed_by = worker
         where b.ctid = any (array(select b.ctid from doorbell.breakers b
                                    where b.tenant_id = part.tenant_id and b.kind = failed.kind and b.probe = failed.job_id
                                      for update skip locked));
        continue;
      end if;
      select count(distinct f.job_id) into n from doorbell.failures f
       where f.tenant_id = part.tenant_id and f.kind = failed.kind and f.fingerprint = failed.fingerprint
         and f.at > clock_timestamp() - span;
      if n >= many and pg_try_advisory_xact_lock(hashtextextended('doorbell.breaker ' || part.tenant_id || ' ' || failed.kind, 0)) then
        insert into doorbell.breakers (tenant_id, kind, fingerprint, error, held_until, changed_by)
        values (part.tenant_id, failed.kind, failed.fingerprint, failed.error, clock_timestamp() + doorbell.breaker_pause(1), worker);
      end if;
    end loop;
  end loop;
end $$;

-- Of these doorbells, those that may be claimed; the others become alarms. The line is open at its start.
create or replace function doorbell.hold(worker text, kinds text[], tenants text[], ids uuid[], out may_tenants text[], out may_ids uuid[], out held int)
language plpgsql as $$
#variable_conflict use_column
declare
  marked constant text[] := array(select distinct b.tenant_id from doorbell.breakers b);
  part   record;
  due    record;
  until  timestamptz;
  let_in uuid;
  stay   uuid[] := '{}';
begin
  held := 0;
  may_tenants := '{}'; may_ids := '{}';
  for part in
    select b.tenant_id, array_agg(distinct b.id) as ids from unnest(hold.tenants, hold.ids) b(tenant_id, id) group by 1 order by 1
  loop
    stay := '{}';
    if part.tenant_id = any (marked) then
      perform set_config('doorbell.tenant_id', part.tenant_id, true);
      for due in
        select b.kind, b.held_until, array_agg(j.id order by j.id) as ids, array_agg(j.lane order by j.id) as lanes,
               array_agg(j.priority order by j.id) as priorities
          from doorbell.breakers b
          join doorbell.jobs j on j.tenant_id = b.tenant_id and j.id = any (part.ids) and j.kind = b.kind
         where b.tenant_id = part.tenant_id and b.kind = any (hold.kinds) and j.state = 'queued' and j.run_after <= clock_timestamp()
         group by b.kind, b.held_until
      loop
        until := due.held_until;
        let_in := null;
        if until <= clock_timestamp() then
          update doorbell.breakers b
             set probe = due.ids[1], held_until = clock_timestamp() + doorbell.breaker_pause(b.times)
           where b.ctid = any (array(select b.ctid from doorbell.breakers b
                                      where b.tenant_id = part.tenant_id and b.kind = due.kind and b.held_until <= clock_timestamp()
                                        for update skip locked))
          returning b.probe, b.held_until into let_in, until;
          until := coalesce(until, clock_timestamp() + interval '1 s');   -- another tick lets one in
        end if;
        stay := stay || array(select i from unnest(due.ids) i where i is distinct from let_in);
        perform doorbell.ring(array_agg(j.lane), array_agg(part.tenant_id), array_agg(j.priority), array_agg(j.id), array_agg(until))
           from unnest(due.ids, due.lanes, due.priorities) j(id, lane, priority) where j.id is distinct from let_in having count(*) > 0;
      end loop;
    end if;
    held := held + cardinality(stay);
    may_ids := may_ids || array(select i from unnest(part.ids) i where i <> all (stay));
    may_tenants := may_tenants || array_fill(part.tenant_id, array[cardinality(part.ids) - cardinality(stay)]);
  end loop;
end $$;

-- Under the tenant's clamp: closes breakers of these kinds, and has their jobs looked at now. How many.
create or replace function doorbell.end_breakers(tenant text, kinds text[]) returns int
language plpgsql as $$
#variable_conflict use_column
declare
  closed record;
  n      int := 0;
begin
  for closed in
    delete from doorbell.breakers b where b.ctid = any (array(
      select b.ctid from doorbell.breakers b where b.tenant_id = tenant and b.kind = any (kinds) for update skip locked))
    returning b.kind, b.held_until
  loop
    n := n + 1;
    update doorbell.doorbells d set ring_at = clock_timestamp()
     where d.ctid = any (array(
       select d.ctid from doorbell.lanes l
         join doorbell.doorbells d on d.lane = l.lane and d.turn is null and d.ring_at > clock_timestamp() and d.ring_at <= closed.held_until
         join doorbell.jobs j on j.tenant_id = tenant and j.id = d.job_id
        where d.tenant_id = tenant and j.kind = closed.kind and j.state = 'queued' and j.run_after <= clock_timestamp()
          for update of d skip locked));
  end loop;
  return n;
end $$;

-- A person closes a breaker. False: there is none, or it is just being changed.
create or replace function doorbell.close_breaker(tenant text, kind text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
  n int;
begin
  perform doorbell.clamp(close_breaker.tenant, caller);
  delete from doorbell.failures f where f.ctid = any (array(
    select f.ctid from doorbell.failures f where f.tenant_id = close_breaker.tenant and f.kind = close_breaker.kind for update skip locked));
  n := doorbell.end_breakers(close_breaker.tenant, array[close_breaker.kind]);
  perform doorbell.unclamp(caller);
  return n > 0;
end $$;

-- What is paused, of all tenants or, in a transaction that is clamped to one, of that one. For doorbell_web and doorbell_worker.
create or replace function doorbell.list_breakers() returns setof doorbell.breakers
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
begin
  if caller <> '' then
    perform doorbell.guard(array[caller], caller);
  else
    perform doorbell.open_line(caller);
  end if;
  return query select b.* from doorbell.breakers b order by b.opened_at, b.tenant_id, b.kind;
  perform doorbell.unclamp(caller);
end $$;

-- For the sweep, with the line open: failures of long ago, and breakers that nothing has come for.
create or replace function doorbell.forget_failures() returns void
language plpgsql as $$
begin
  delete from doorbell.failures f where f.ctid = any (array(
    select f.ctid from doorbell.failures f
     where f.at < now() - 2 * (doorbell.setting('breaker_window_ms'))::int * interval '1 ms' for update skip locked));
  delete from doorbell.breakers b where b.ctid = any (array(
    select b.ctid from doorbell.breakers b where b.held_until < now() - interval '1 hour' for update skip locked));
end $$;

-- Under the clamp: how many attempts of this job, one after the other and up to now, ended with their process. A job that was
-- made a dead letter for it begins anew.
create or replace function doorbell.losses(tenant text, job uuid, attempt int) returns int
language sql stable as $$
  select count(*)::int from doorbell.attempts a
   where a.tenant_id = losses.tenant and a.job_id = losses.job and a.outcome = 'lost' and a.error_code = 'lease_lost'
     and a.attempt > coalesce((select max(o.attempt) from doorbell.attempts o
                                where o.tenant_id = losses.tenant and o.job_id = losses.job and o.attempt < losses.attempt
                                  and (o.outcome <> 'lost' or o.error_code <> 'lease_lost')), 0)
$$;

-- Runs settled jobs again, and this effect of theirs with them, although it is completed: a person wants it once more, and
-- says so on record. A new intent is begun under a new idempotency key, for a receiver would drop the old one as a repeat;
-- it says `not done`, so that the next attempt does it. Other effects stay as they are. The answers of replay, and
--   not_completed   there is no such effect, or it is not completed: the job is not replayed
create or replace function doorbell.refire(tenant text, ids uuid[], key text, reason text, actor text)
returns table (id uuid, answer text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
  able   uuid[];
  again  uuid[];
begin
  perform doorbell.clamp(refire.tenant, caller);
  if coalesce(reason, '') = '' or coalesce(actor, '') = '' then
    raise exception 'doorbell: to do an effect again needs a reason and who gives it' using errcode = '22023';
  end if;
  able := array(select distinct s.job_id from doorbell.effect_states s
                 where s.tenant_id = refire.tenant and s.job_id = any (refire.ids) and s.key = refire.key and s.outcome = 'completed');
  return query
  select i.id, case when j.id is not null then 'open' when o.id is not null then 'not_completed' else 'not_found' end
    from (select distinct unnest(refire.ids) as id) i
    left join doorbell.jobs j on j.tenant_id = refire.tenant and j.id = i.id
    left join doorbell.all_jobs o on o.tenant_id = refire.tenant and o.id = i.id
   where i.id <> all (able);
  for id, answer in select r.id, r.answer from doorbell.replay(refire.tenant, able) r loop
    if answer = 'replayed' then
      again := again || id;
    end if;
    return next;
  end loop;
  with begun as (
    insert into doorbell.effects (tenant_id, job_id, key, n, type, idempotency_key, request_hash, attempt)
    select s.tenant_id, s.job_id, s.key, s.n + 1, s.type, s.job_id || ':' || s.key || ':again:' || (s.n + 1), s.request_hash, s.attempt
      from doorbell.effect_states s where s.tenant_id = refire.tenant and s.job_id = any (again) and s.key = refire.key
    returning tenant_id, job_id, key, n)
  insert into doorbell.effect_outcomes (tenant_id, job_id, key, n, source, outcome, reason, actor)
  select b.tenant_id, b.job_id, b.key, b.n, 'person', 'not_done', 'to be done again: ' || refire.reason, refire.actor from begun b;
  perform doorbell.unclamp(caller);
end $$;
