-- The ledger: an intent before each effect, an outcome after it, each a row of its own, committed on its own.
--
-- What is known of an effect is what its latest intent's outcomes say, whoever said it: completed, if any says so; else
-- not done, if any says so; else it is in doubt. (An intent without an outcome, whose attempt still runs, is under way;
-- the attempt that began it knows that, and everybody else must take it for in doubt.)

-- The latest intent of each key of a job, and what is known of it. Under the clamp; for the functions here and readers.
create or replace view doorbell.effect_states with (security_invoker) as
  select e.*, o.outcome, o.value, o.reason, o.actor, o.source, o.at as finished_at, o.conflict
    from doorbell.effects e
    left join lateral (
      select case when bool_or(o.outcome = 'completed') then 'completed'
                  when bool_or(o.outcome = 'not_done')  then 'not_done'
                  when count(*) > 0                     then 'unknown' end as outcome,
             (array_agg(o.value  order by o.outcome = 'completed' desc, o.at))[1] as value,
             (array_agg(o.reason order by o.outcome = 'completed' desc, o.at desc))[1] as reason,
             (array_agg(o.actor  order by o.outcome = 'completed' desc, o.at desc))[1] as actor,
             (array_agg(o.source order by o.outcome = 'completed' desc, o.at desc))[1] as source,
             max(o.at) as at,
             coalesce(bool_or(o.outcome = 'completed') and bool_or(o.outcome = 'not_done'), false) as conflict
        from doorbell.effect_outcomes o
       where o.tenant_id = e.tenant_id and o.job_id = e.job_id and o.key = e.key and o.n = e.n) o on true
   where e.n = (select max(l.n) from doorbell.effects l
                 where l.tenant_id = e.tenant_id and l.job_id = e.job_id and l.key = e.key);

-- Whether an effect of this job is in doubt. Under the clamp.
create or replace function doorbell.in_doubt(tenant text, job uuid) returns boolean
language sql stable as $$
  select exists (select from doorbell.effect_states s
                  where s.tenant_id = tenant and s.job_id = job and coalesce(s.outcome, 'unknown') = 'unknown')
$$;

-- Intents, before the calls. Each is fenced on its attempt; the call may start when this statement has committed, not
-- before. over_doubt: begin again although the last one is in doubt. Per element, in any order, n being its position:
--   go         the intent is new: call
--   completed  do not call; value is what came of it
--   changed    the same, but it was asked for with another request
--   in_doubt   an earlier one may have happened: probe, or decide
--   lost       the lease is gone: begin nothing
create or replace function doorbell.begin_effects(
  worker text, tenants text[], ids uuid[], attempts int[], keys text[], types text[],
  idempotency_keys text[], request_hashes text[], over_doubt boolean[])
returns table (n bigint, verdict text, intent int, value jsonb, idempotency_key text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
  held   bigint[];   -- positions whose lease stands
begin
  perform doorbell.guard(begin_effects.tenants, caller);

  -- The row lock keeps the lease from being taken between this check and the commit of the intent.
  select array_agg(h.n) into held from (
    select o.n
      from (select set_config('doorbell.tenant_id', o.tenant_id, true) as tenant_id, o.id, o.attempt, o.n
              from (select * from unnest(tenants, ids, attempts) with ordinality o(tenant_id, id, attempt, n)
                     order by o.tenant_id collate "C", o.id) o offset 0) o
      join doorbell.jobs j on j.tenant_id = any (array[o.tenant_id]) and j.id >= o.id and j.id <= o.id
     where j.state = 'claimed' and j.claimed_by = begin_effects.worker and j.attempts = o.attempt
       for share of j) h;

  return query
  with look as materialized (
    select w.*, case when (w.n = any (held)) is not true then 'lost'
                     when last.n is null or last.outcome = 'not_done' then 'go'
                     when last.outcome = 'completed' then case when last.request_hash = w.hash then 'completed' else 'changed' end
                     when w.over_doubt then 'go'
                     else 'in_doubt' end as verdict,
           last.n as last_n, last.value, last.idempotency_key as last_key
      from (select set_config('doorbell.tenant_id', w.tenant_id, true) as tenant_id, w.id, w.attempt, w.key, w.type,
                   w.idempotency_key, w.hash, w.over_doubt, w.n
              from (select * from unnest(tenants, ids, attempts, keys, types, idempotency_keys, request_hashes, over_doubt)
                                  with ordinality w(tenant_id, id, attempt, key, type, idempotency_key, hash, over_doubt, n)
                     order by w.tenant_id collate "C", w.id, w.key collate "C") w offset 0) w
      left join lateral (
        select e.n, e.request_hash, e.idempotency_key, e.outcome, e.value from doorbell.effect_states e
         where e.tenant_id = any (array[w.tenant_id]) and e.job_id >= w.id and e.job_id <= w.id and e.key = any (array[w.key])
        offset 0) last on true),
  begun as (
    insert into doorbell.effects (tenant_id, job_id, key, n, type, idempotency_key, request_hash, attempt)
    select set_config('doorbell.tenant_id', w.tenant_id, true), w.id, w.key, coalesce(w.last_n, 0) + 1, w.type,
           coalesce(w.last_key, w.idempotency_key), w.hash, w.attempt
      from look w where w.verdict = 'go')
  select w.n, w.verdict, case w.verdict when 'go' then coalesce(w.last_n, 0) + 1 else w.last_n end,
         case when w.verdict <> 'lost' then w.value end, coalesce(w.last_key, w.idempotency_key)
    from look w;
  perform doorbell.unclamp(caller);
end $$;

-- Outcomes, after the calls. Not fenced by the lease: what has happened outside has happened, and is written down by
-- whoever knows it, on its own intent, once. The positions that come back are those that were written.
create or replace function doorbell.finish_effects(
  tenants text[], ids uuid[], keys text[], intents int[], sources text[], outcomes text[], "values" jsonb[], reasons text[])
returns setof bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
begin
  perform doorbell.guard(finish_effects.tenants, caller);
  perform doorbell.check_size(v, 'an effect''s value') from unnest("values") v where v is not null;
  return query
  with told as (
    insert into doorbell.effect_outcomes as t (tenant_id, job_id, key, n, source, outcome, value, reason, at)
    select set_config('doorbell.tenant_id', o.tenant_id, true), o.id, o.key, o.intent, o.source, o.outcome, o.value, o.reason, clock_timestamp()
      from (select set_config('doorbell.tenant_id', o.tenant_id, true) as tenant_id, o.id, o.key, o.intent, o.source, o.outcome, o.value, o.reason
              from (select * from unnest(tenants, ids, keys, intents, sources, outcomes, "values", reasons)
                                  o(tenant_id, id, key, intent, source, outcome, value, reason)
                     order by o.tenant_id collate "C", o.id, o.key collate "C") o offset 0) o
      join lateral (
        select from doorbell.effects e
         where e.tenant_id = any (array[o.tenant_id]) and e.job_id >= o.id and e.job_id <= o.id
           and e.key = any (array[o.key]) and e.n = o.intent offset 0) e on true
    on conflict do nothing
    returning t.tenant_id, t.job_id, t.key, t.n)
  select o.i from told t join unnest(tenants, ids, keys, intents) with ordinality o(tenant_id, id, key, intent, i)
      on o.tenant_id = t.tenant_id and o.id = t.job_id and o.key = t.key and o.intent = t.n;
  perform doorbell.unclamp(caller);
end $$;

-- Counts usage exactly once per job and key: intent, count and outcome are one statement. The verdicts of begin_effects.
create or replace function doorbell.count_usage(
  worker text, tenant text, id uuid, attempt int, key text, request_hash text, meter text, amount bigint)
returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
  begun  record;
begin
  perform doorbell.clamp(tenant, caller);
  select * into begun from doorbell.begin_effects(worker, array[tenant], array[count_usage.id], array[attempt], array[count_usage.key],
    array['usage'], array[count_usage.id || ':' || count_usage.key], array[count_usage.request_hash], array[true]);
  if begun.verdict = 'go' then
    insert into doorbell.usage_counters as u (tenant_id, meter, day, amount)
    values (tenant, count_usage.meter, (clock_timestamp() at time zone 'UTC')::date, count_usage.amount)
    on conflict (tenant_id, meter, day) do update set amount = u.amount + excluded.amount;
    perform doorbell.finish_effects(array[tenant], array[count_usage.id], array[count_usage.key], array[begun.intent],
      array['call'], array['completed'], array[jsonb_build_object('meter', count_usage.meter, 'amount', count_usage.amount)], array[null::text]);
  end if;
  perform doorbell.unclamp(caller);
  return begun.verdict;
end $$;

-- A person's answer about an effect in doubt: 'completed' (with the value that the handler shall see) or 'not_done' (so
-- it is done again). The job goes on when nothing else of it is in doubt. For doorbell_web. Answers
--   resolved    not_found (no such job or effect)    not_in_doubt (it is known what became of it)    under_way (its attempt still runs)
create or replace function doorbell.resolve_effect(
  tenant text, job uuid, key text, outcome text, value jsonb, reason text, actor text)
returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
  j      doorbell.jobs;
  e      record;
  answer text := 'resolved';
begin
  perform doorbell.clamp(tenant, caller);
  if outcome not in ('completed', 'not_done') then
    raise exception 'doorbell: an answer is completed or not_done, not "%"', outcome using errcode = '22023';
  elsif coalesce(reason, '') = '' or coalesce(actor, '') = '' then
    raise exception 'doorbell: an answer about effect "%" of job % needs a reason and who gives it', key, job using errcode = '22023';
  end if;
  perform doorbell.check_size(resolve_effect.value, 'an effect''s value');

  select x.* into j from doorbell.jobs x where x.tenant_id = tenant and x.id = resolve_effect.job for update;
  select s.* into e from doorbell.effect_states s
   where s.tenant_id = tenant and s.job_id = resolve_effect.job and s.key = resolve_effect.key;
  if e.n is null then
    answer := 'not_found';
  elsif coalesce(e.outcome, 'unknown') <> 'unknown' then
    answer := 'not_in_doubt';
  elsif e.outcome is null and j.state = 'claimed' and j.attempts = e.attempt then
    answer := 'under_way';
  else
    insert into doorbell.effect_outcomes (tenant_id, job_id, key, n, source, outcome, value, reason, actor)
    values (tenant, resolve_effect.job, resolve_effect.key, e.n, 'person', resolve_effect.outcome, resolve_effect.value,
            resolve_effect.reason, resolve_effect.actor);
    if j.state = 'waiting' and not doorbell.in_doubt(tenant, resolve_effect.job) then
      update doorbell.jobs x set state = 'queued', run_after = now() where x.tenant_id = tenant and x.id = resolve_effect.job;
      perform doorbell.ring(array[j.lane], array[tenant], array[j.priority], array[resolve_effect.job]);
    end if;
  end if;
  perform doorbell.unclamp(caller);
  return answer;
end $$;
