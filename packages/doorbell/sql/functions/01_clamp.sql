-- The clamp: which tenant is in force.
--
-- Every function below remembers the caller's clamp at its start and gives it back at its end; an error does the same,
-- by rolling back. It refuses to serve another tenant in a transaction that is clamped to one.
-- (SET doorbell.tenant_id = '' on the functions would do it too, but only a superuser may write that.)
--
-- A function that serves many tenants moves the clamp: in a loop, or row by row, in this form:
--
--   update doorbell.jobs j ...
--     from (select set_config('doorbell.tenant_id', o.tenant_id, true) as tenant_id, o.ids
--             from (select o.tenant_id, array_agg(o.id order by o.id) as ids
--                     from unnest(tenants, ids) o(tenant_id, id) group by 1 order by 1) o offset 0) o
--    where j.tenant_id = any (array[o.tenant_id]) and j.id = any (o.ids) and j.id >= o.ids[1] and j.id <= o.ids[cardinality(o.ids)]
--
-- A nested loop takes a tenant of o, which moves the clamp, then finds its jobs by primary key, all in one index scan, then
-- updates them: exactly one tenant in force at any instant, and rows locked in one order, (tenant_id, id). (Where each row
-- brings more with it than its id, o has a row for each job, and the last line reads `j.id >= o.id and j.id <= o.id`.)
-- Three things leave the planner no other plan, whatever its statistics say: the other joins and scans are switched off
-- on the function; `= any (array[x])`, `>= x` and `<= x` can drive an index but not a merge or a hash; and the owner's
-- policies cannot be an index condition. The bounds are for 15 and 16, which may take `= any (ids)` for a mere filter.
-- Were the plan another all the same, it would see the rows of no tenant, or fail: it could not see another's. That
-- nothing was claimed although rows are there is noticed (functions/05_claim.sql), and the doctor tries it at boot.

-- Whether the caller may act for these tenants. Where tenancy is signed a token must say so, one for the tenant or one for
-- '*', which is all of them; but not of a login that may claim: it serves every tenant as it is, and no web tier has it.
create or replace function doorbell.may_serve(tenants text[]) returns boolean
language plpgsql stable as $$
begin
  return not exists (select from doorbell.token_keys)
      or pg_has_role(session_user, 'doorbell_worker', 'MEMBER')
      or coalesce((select t.tenant = '*' or t.tenant = all (tenants) from doorbell.token_tenant() t(tenant)), false);
end $$;

-- Signs tenancy: from now on these keys (32 bytes each) are what tokens may be signed with, and no other. None: it is plain
-- again. For the owner. Two keys at once are for changing from one to the other. Whether they are others than before.
create or replace function doorbell.accept_tokens(keys bytea[]) returns boolean
language plpgsql as $$
declare
  changed boolean;
begin
  if exists (select from unnest(keys) k where octet_length(k) is distinct from 32) then
    raise exception 'doorbell: a key for tokens has 32 bytes' using errcode = '22023';
  end if;
  with wanted as (
    select string_agg(set_byte('\x00', 0, b.byte # 54), '' order by b.i) as inner_key,
           string_agg(set_byte('\x00', 0, b.byte # 92), '' order by b.i) as outer_key
      from (select distinct key from unnest(keys) key) k,
           lateral (select i, case when i < 32 then get_byte(k.key, i) else 0 end as byte from generate_series(0, 63) i) b
     group by k.key),
  gone as (
    delete from doorbell.token_keys k where (k.inner_key, k.outer_key) not in (select w.inner_key, w.outer_key from wanted w) returning 1),
  come as (
    insert into doorbell.token_keys (inner_key, outer_key)
    select w.inner_key, w.outer_key from wanted w except select k.inner_key, k.outer_key from doorbell.token_keys k returning 1)
  select exists (select from gone union all select from come) into changed;
  return changed;
end $$;

-- Whether tenancy is signed.
create or replace function doorbell.is_signed() returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp as
  'select exists (select from doorbell.token_keys)';

-- Refuses tenants that are none, in a transaction that is clamped to one every other, and those the caller has no token for.
-- `caller` is the clamp found at the start.
create or replace function doorbell.guard(tenants text[], caller text) returns void
language plpgsql as $$
declare
  bad text;
begin
  if exists (select from unnest(tenants) t where t is null or t = '') then
    raise exception 'doorbell: no tenant' using errcode = '42501';
  elsif caller <> '' and exists (select from unnest(tenants) t where t <> caller) then
    raise exception 'doorbell: this transaction is clamped to another tenant' using errcode = '42501';
  end if;
  select t into bad from unnest(tenants) t where t = '*' or octet_length(t) > 200 limit 1;
  if found then
    raise exception 'doorbell: a tenant id has 1 to 200 bytes and is not "*" (this one has %)', octet_length(bad)
      using errcode = '22023';
  elsif not doorbell.may_serve(tenants) then
    raise exception 'doorbell: tenancy is signed, and this transaction carries no valid token for this tenant' using errcode = '42501';
  end if;
end $$;

-- Puts a tenant in force until the transaction ends or the clamp moves on.
create or replace function doorbell.clamp(tenant text, caller text) returns void
language plpgsql as $$
begin
  perform doorbell.guard(array[tenant], caller);
  perform set_config('doorbell.tenant_id', tenant, true);
end $$;

-- Opens the line, for all tenants. Refused in a transaction that is clamped to one.
create or replace function doorbell.open_line(caller text) returns void
language plpgsql as $$
begin
  if caller <> '' then
    raise exception 'doorbell: this serves all tenants, and the transaction is clamped to one' using errcode = '42501';
  elsif not doorbell.may_serve(array['*']) then
    raise exception 'doorbell: tenancy is signed, and this transaction carries no valid token for all tenants' using errcode = '42501';
  end if;
  perform set_config('doorbell.tenant_id', '*', true);
end $$;

-- Gives the caller's clamp back.
create or replace function doorbell.unclamp(caller text) returns void
language plpgsql as $$
begin
  perform set_config('doorbell.tenant_id', coalesce(caller, ''), true);
end $$;
