-- Enqueue: a job and its doorbell, in the caller's transaction. Nothing is sent: the doorbell appears at commit.
-- For doorbell_producer, doorbell_web and doorbell_worker; `select doorbell.enqueue('acme', 'invoice.extract')` in psql
-- or in a trigger is as good as any.
--
-- With a key, or an id of the caller's choice, that was used before: the job that has it, and created = false, for as
-- long as that job's row lives, whatever became of it. A rival that has not committed yet is waited for; under
-- REPEATABLE READ that may end in 40001, as for any insert.

-- Takes keys for jobs, all in one order, so that two calls cannot deadlock on them. Per element: the job that has the key;
-- null when that is this one, be it because the key was free or because the caller has sent this id before (owners_of looks
-- for that). No key (a null hash): null. Ids are keys too, of the kind ''.
create or replace function doorbell.take_keys(tenants text[], kinds text[], hashes bytea[], ids uuid[]) returns uuid[]
language plpgsql
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set enable_material = off set enable_memoize = off as $$
#variable_conflict use_column
declare
  found_all boolean;
  owners    uuid[];
begin
  loop
    insert into doorbell.job_keys (tenant_id, kind, key_hash, job_id)
    select set_config('doorbell.tenant_id', w.tenant, true), w.kind, w.hash, w.id
      from (select distinct on (w.tenant collate "C", w.kind collate "C", w.hash) w.*
              from unnest(tenants, kinds, hashes, ids) with ordinality w(tenant, kind, hash, id, i)
             where w.hash is not null
             order by w.tenant collate "C", w.kind collate "C", w.hash, w.i) w
    on conflict (tenant_id, kind, key_hash) do nothing;     -- waits for a rival that has not committed yet

    -- A new statement, so a new snapshot: it sees the keys that rivals committed while we waited for them.
    select array_agg(case when w.first and k.job_id = w.id then null else k.job_id end order by w.i),
           bool_and(w.hash is null or k.job_id is not null)
      into owners, found_all
      from (select set_config('doorbell.tenant_id', w.tenant, true) as tenant, w.kind, w.hash, w.id, w.i,
                   row_number() over (partition by w.tenant, w.kind, w.hash order by w.i) = 1 as first
              from unnest(tenants, kinds, hashes, ids) with ordinality w(tenant, kind, hash, id, i) offset 0) w
      left join lateral (
        select k.job_id from doorbell.job_keys k
         where k.tenant_id = w.tenant and k.kind = w.kind and k.key_hash = w.hash offset 0) k on true;
    exit when found_all;                                    -- else a key was removed in between: try again
  end loop;
  return owners;
end $$;

-- Whose job each of these is: the one that has its key, or its id if the caller chose it; null: a new one.
create or replace function doorbell.owners_of(tenants text[], kinds text[], keys text[], chosen uuid[], ids uuid[]) returns uuid[]
language plpgsql set enable_hashjoin = off set enable_mergejoin = off set enable_material = off set enable_memoize = off as $$
#variable_conflict use_column
declare
  by_key uuid[];
  by_id  uuid[];
begin
  by_key := doorbell.take_keys(tenants, kinds, array(select sha256(convert_to(k.key, 'UTF8')) from unnest(keys) k(key)), ids);
  by_id := doorbell.take_keys(tenants, array_fill(''::text, array[cardinality(ids)]),
                              array(select case when o.owner is null then uuid_send(o.id) end from unnest(by_key, chosen) o(owner, id)), ids);
  -- Where that key was free or this job's, the id may have been sent before, or be one that we once gave out.
  return array(
    select coalesce(w.by_key, w.by_id, given.id)
      from (select set_config('doorbell.tenant_id', w.tenant, true) as tenant, w.by_key, w.by_id, w.chosen
              from unnest(tenants, by_key, by_id, chosen) w(tenant, by_key, by_id, chosen) offset 0) w
      left join lateral (
        select j.id from doorbell.all_jobs j where j.tenant_id = w.tenant and j.id = w.chosen offset 0) given on true);
end $$;

-- Remembers tenants that are new; the next sweep registers them.
create or replace function doorbell.meet(tenants text[]) returns void language plpgsql as $$
begin
  insert into doorbell.newcomers (tenant_id)
  select t.tenant_id from unnest(tenants) t(tenant_id)
   where not exists (select from doorbell.tenants k where k.tenant_id = t.tenant_id)
     and not exists (select from doorbell.newcomers k where k.tenant_id = t.tenant_id);
end $$;

create or replace function doorbell.enqueue(
  tenant text, kind text, payload jsonb default '{}', id uuid default null, key text default null,
  run_after timestamptz default null, lane text default 'default', priority int default 0, max_attempts int default 10,
  object_key text default null, object_sha256 text default null, object_size bigint default null,
  limit_key text default null, traceparent text default null,
  out job_id uuid, out created boolean
) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
  owner  uuid;
begin
  perform doorbell.clamp(enqueue.tenant, caller);
  perform doorbell.check_job(enqueue.kind, enqueue.priority, enqueue.max_attempts);
  perform doorbell.check_size(enqueue.payload, format('the payload of a job of kind "%s"', enqueue.kind));
  perform doorbell.require_lane(enqueue.lane);
  job_id := coalesce(enqueue.id, doorbell.new_id());

  if enqueue.key is not null or enqueue.id is not null then
    owner := (doorbell.owners_of(array[enqueue.tenant], array[enqueue.kind], array[enqueue.key], array[enqueue.id], array[job_id]))[1];
  end if;
  created := owner is null;
  job_id := coalesce(owner, job_id);

  if created then
    perform doorbell.meet(array[enqueue.tenant]);
    insert into doorbell.jobs (tenant_id, id, kind, lane, payload, priority, max_attempts, run_after, object_key,
                               object_sha256, object_size, idempotency_key, limit_key, traceparent)
    values (enqueue.tenant, enqueue.job_id, enqueue.kind, enqueue.lane, coalesce(enqueue.payload, '{}'), enqueue.priority,
            enqueue.max_attempts, coalesce(enqueue.run_after, now()), enqueue.object_key, enqueue.object_sha256,
            enqueue.object_size, enqueue.key, enqueue.limit_key, enqueue.traceparent);
    perform doorbell.ring(array[enqueue.lane], array[enqueue.tenant], array[enqueue.priority], array[enqueue.job_id], array[enqueue.run_after]);
  end if;
  perform doorbell.unclamp(caller);
end $$;

-- Many jobs, several tenants, one statement. Each element is an object whose members are named as enqueue's arguments
-- are; delay_ms instead of run_after counts from now. The answers carry the position of the element, from 1. Where two
-- elements have one key or id, the first wins.
create or replace function doorbell.enqueue_many(jobs json)
returns table (n bigint, job_id uuid, created boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  caller  constant text := current_setting('doorbell.tenant_id', true);
  input   constant doorbell.new_job[] := array(select j from json_populate_recordset(null::doorbell.new_job, enqueue_many.jobs) j);
  tenants constant text[] := array(select distinct j.tenant from unnest(input) j);
  ids     uuid[]    := array(select coalesce(j.id, doorbell.new_id()) from unnest(input) j);
  fresh   boolean[] := array_fill(true, array[cardinality(input)]);
begin
  perform doorbell.guard(tenants, caller);
  perform doorbell.check_job(j.kind, coalesce(j.priority, 0), coalesce(j.max_attempts, 10))
     from (select distinct j.kind, j.priority, j.max_attempts from unnest(input) j) j;
  perform doorbell.require_lane(j.lane) from (select distinct coalesce(j.lane, 'default') as lane from unnest(input) j) j;
  if (select max(octet_length(j.payload::text)) from unnest(input) j) > 8192 then
    perform doorbell.check_size(j.payload, format('the payload of a job of kind "%s"', j.kind)) from unnest(input) j;
  end if;

  if exists (select from unnest(input) j where j.key is not null or j.id is not null) then
    select array_agg(coalesce(o.owner, o.id) order by o.i), array_agg(o.owner is null order by o.i) into ids, fresh
      from unnest(ids, (select doorbell.owners_of(array_agg(j.tenant), array_agg(j.kind), array_agg(j.key), array_agg(j.id), ids)
                          from unnest(input) j)) with ordinality o(id, owner, i);
  end if;

  insert into doorbell.jobs (tenant_id, id, kind, lane, payload, priority, max_attempts, run_after, object_key,
                             object_sha256, object_size, idempotency_key, limit_key, traceparent)
  select set_config('doorbell.tenant_id', j.tenant, true), ids[j.ordinality], j.kind, coalesce(j.lane, 'default'),
         coalesce(j.payload, '{}'), coalesce(j.priority, 0), coalesce(j.max_attempts, 10),
         coalesce(j.run_after, now() + coalesce(j.delay_ms, 0) * interval '1 ms'), j.object_key, j.object_sha256, j.object_size,
         j.key, j.limit_key, j.traceparent
    from unnest(input) with ordinality j where fresh[j.ordinality];

  perform set_config('doorbell.tenant_id', case when caller <> '' then caller else '*' end, true);
  perform doorbell.meet(tenants);
  perform doorbell.ring(array_agg(coalesce(j.lane, 'default')), array_agg(j.tenant), array_agg(coalesce(j.priority, 0)), array_agg(ids[j.ordinality]),
                        array_agg(coalesce(j.run_after, now() + j.delay_ms * interval '1 ms')))
     from unnest(input) with ordinality j where fresh[j.ordinality] having count(*) > 0;
  perform doorbell.unclamp(caller);
  return query select j.n, j.id, j.fresh from unnest(ids, fresh) with ordinality j(id, fresh, n);
end $$;
