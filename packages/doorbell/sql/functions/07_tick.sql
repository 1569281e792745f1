-- Tick: settles the last batch and claims the next, in one statement, one transaction, one round trip. For
-- doorbell_worker. It serves all tenants, so it is refused in a transaction that is clamped to one.
--
-- With lanes: pops up to n doorbells from them. Without: claims what bell_tenants and bell_ids name, which came through
-- an external queue. No row of what = 'claimed', and none of what = 'stale' or the like: the line is empty.
--
-- Due is judged by clock_timestamp(): now() is when this transaction began, and a doorbell may come from one that began
-- later and has committed already.
create or replace function doorbell.tick(
  worker text, kinds text[], n int, lanes text[] default null, lease_ms bigint default 30000,
  bell_tenants text[] default null, bell_ids uuid[] default null,
  tenants text[] default '{}', ids uuid[] default '{}', attempts int[] default '{}', outcomes text[] default null,
  delays bigint[] default null, results jsonb[] default null,
  errors text[] default null, codes text[] default null, fingerprints text[] default null)
returns setof doorbell.tick_row
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off as $$
#variable_conflict use_column
declare
  caller  constant text := current_setting('doorbell.tenant_id', true);
  settled record;
  claimed int;
  held    int := 0;
  all_tenants text[];   -- of the doorbells, held ones too
  all_ids     uuid[];
begin
  if caller <> '' then
    raise exception 'doorbell: a tick serves all tenants, and the transaction is clamped to one' using errcode = '42501';
  end if;

  if cardinality(ids) > 0 then
    select array_agg(s.tenant_id) as tenants, array_agg(s.id) as ids, count(*) as n into settled
      from doorbell.settle(worker, tick.tenants, ids, attempts, outcomes, delays, results, errors, codes, fingerprints) s;
    if settled.n < cardinality(ids) then
      return query
      select 'lost', o.tenant_id, o.id, null::text, o.attempt, null::int, null::jsonb, null::text, null::text,
             null::bigint, null::text
        from unnest(tick.tenants, ids, attempts) o(tenant_id, id, attempt)
       where not exists (select from unnest(settled.tenants, settled.ids) s(tenant_id, id)
                          where s.tenant_id = o.tenant_id and s.id = o.id)
          or exists (select from unnest(tick.tenants, ids, attempts) later(tenant_id, id, attempt)   -- of one job, the last
                      where later.tenant_id = o.tenant_id and later.id = o.id and later.attempt > o.attempt);
    end if;
  end if;

  perform doorbell.open_line(caller);
  if outcomes && array['failed', 'retry'] then   -- what this batch has opened, for the worker's log
    return query
    select 'opened', b.tenant_id, null::uuid, b.kind, b.times, null::int, null::jsonb, b.error, b.fingerprint,
           (extract(epoch from b.held_until) * 1000)::bigint, null::text
      from doorbell.breakers b where b.changed_by = tick.worker and b.changed_at = now();
  end if;
  if lanes is not null and n > 0 then
    select p.tenants, p.ids into bell_tenants, bell_ids from doorbell.pop(lanes, tick.kinds, n) p;
  end if;
  all_tenants := bell_tenants;
  all_ids := bell_ids;
  if cardinality(bell_ids) > 0 and exists (select from doorbell.breakers) then
    select h.may_tenants, h.may_ids, h.held into bell_tenants, bell_ids, held
      from doorbell.hold(worker, tick.kinds, bell_tenants, bell_ids) h;
    if held > 0 then
      return query select 'held', null::text, null::uuid, null::text, held, null::int, null::jsonb, null::text, null::text, null::bigint, null::text;
    end if;
  end if;
  if cardinality(bell_ids) > 0 then
    return query
    update doorbell.jobs j
       set state = 'claimed', attempts = j.attempts + 1, claimed_by = tick.worker, claimed_at = clock_timestamp(),
           lease_until = clock_timestamp() + lease_ms * interval '1 ms'
      from (select set_config('doorbell.tenant_id', b.tenant_id, true) as tenant_id, b.ids
              from (select b.tenant_id collate "C" as tenant_id, array_agg(b.id order by b.id) as ids
                      from unnest(bell_tenants, bell_ids) b(tenant_id, id) group by 1 order by 1) b offset 0) b
     where j.tenant_id = any (array[b.tenant_id]) and j.id = any (b.ids) and j.id >= b.ids[1] and j.id <= b.ids[cardinality(b.ids)]
       and j.state = 'queued' and j.run_after <= clock_timestamp() and j.kind = any (tick.kinds)
    returning 'claimed', j.tenant_id, j.id, j.kind, j.attempts, j.max_attempts, j.payload, j.object_key,
              j.object_sha256, j.object_size, j.traceparent;
    get diagnostics claimed = row_count;
    if claimed < cardinality(bell_ids) then
      return query select * from doorbell.drop_bells(bell_tenants, bell_ids, tick.kinds, claimed);
    end if;
  end if;
  if lanes is null and cardinality(all_ids) > 0 then
    perform doorbell.forget_rung(all_tenants, all_ids, caller);
  end if;
  perform doorbell.unclamp(caller);
end $$;

-- A tick that settles nothing: claims what doorbells name that came through an external queue. Zero rows: drop them.
create or replace function doorbell.claim(worker text, tenants text[], ids uuid[], kinds text[], lease_ms bigint default 30000)
returns setof doorbell.tick_row
language sql security definer set search_path = pg_catalog, pg_temp as
  'select * from doorbell.tick(worker, kinds, 0, lease_ms => lease_ms, bell_tenants => tenants, bell_ids => ids)';
