-- Tick: settles the last batch and claims the next, in one statement, one transaction, one round trip. For
-- doorbell_worker. It serves all tenants, so it is refused in a transaction that is clamped to one.
--
-- With lanes: pops up to n doorbells from them. Without: claims what bell_tenants and bell_ids name, which came through
-- an external queue. No row of what = 'claimed', and none of what = 'stale' or the like: the line is empty.
create or replace function doorbell.tick(
  worker text, kinds text[], n int, lanes text[] default null, lease_ms bigint default 30000,
  bell_tenants text[] default null, bell_ids uuid[] default null,
  tenants text[] default '{}', ids uuid[] default '{}', attempts int[] default '{}', outcomes text[] default '{}',
  delays bigint[] default null, results jsonb[] default null,
  errors text[] default null, codes text[] default null, fingerprints text[] default null)
returns setof doorbell.tick_row
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  caller  constant text := current_setting('doorbell.tenant_id', true);
  settled uuid[];
begin
  if caller <> '' then
    raise exception 'doorbell: a tick serves all tenants, and the transaction is clamped to one' using errcode = '42501';
  end if;

  if cardinality(ids) > 0 then
    settled := array(select doorbell.settle(worker, tick.tenants, ids, attempts, outcomes, delays, results, errors, codes, fingerprints));
    if cardinality(settled) < cardinality(ids) then
      return query
      select 'lost', o.tenant_id, o.id, null::text, o.attempt, null::int, null::jsonb, null::text, null::text,
             null::bigint, null::text
        from unnest(tick.tenants, ids, attempts) o(tenant_id, id, attempt) where o.id <> all (settled);
    end if;
  end if;

  if lanes is not null and n > 0 then
    perform doorbell.open_line(caller);
    select p.tenants, p.ids into bell_tenants, bell_ids from doorbell.pop(lanes, tick.kinds, n) p;
  end if;
  if cardinality(bell_ids) > 0 then
    return query select * from doorbell.claim_jobs(worker, bell_tenants, bell_ids, tick.kinds, lease_ms);
    if lanes is null then
      perform doorbell.forget_rung(bell_tenants, bell_ids, caller);
    end if;
  end if;
  perform doorbell.unclamp(caller);
end $$;
