-- Enqueue: a job and its doorbell, in the caller's transaction. Nothing is sent: the doorbell appears at commit.
-- For doorbell_producer, doorbell_web and doorbell_worker; `select doorbell.enqueue('acme', 'invoice.extract')` in psql
-- or in a trigger is as good as any.
--
-- With a key, or an id of the caller's choice, that was used before: the job that has it, and created = false, for as
-- long as that job's row lives, whatever became of it. A rival that has not committed yet is waited for; under
-- REPEATABLE READ that may end in 40001, as for any insert.

-- Takes keys for jobs, all in one order, so that two calls cannot deadlock on them. Per element: null when the key was
-- free and is now this job's; else the job that has it. No key (a null hash): null. Ids are keys too, of the kind ''.
create or replace function doorbell.take_keys(tenant text, kinds text[], hashes bytea[], ids uuid[]) returns uuid[]
language plpgsql set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
  won    uuid[] := '{}';
  found_all boolean;
  owners uuid[];
begin
  loop
    with fresh as (
      insert into doorbell.job_keys as k (tenant_id, kind, key_hash, job_id)
      select distinct on (w.kind collate "C", w.hash) take_keys.tenant, w.kind, w.hash, w.id
        from unnest(kinds, hashes, ids) with ordinality w(kind, hash, id, i)
       where w.hash is not null order by w.kind collate "C", w.hash, w.i
      on conflict (tenant_id, kind, key_hash) do nothing    -- waits for a rival that has not committed yet
      returning job_id)
    select won || coalesce(array_agg(f.job_id), '{}') into won from fresh f;

    -- A new statement, so a new snapshot: it sees the keys that rivals committed while we waited for them.
    select array_agg(case when w.first and k.job_id = w.id and w.id = any (won) then null else k.job_id end order by w.i),
           bool_and(w.hash is null or k.job_id is not null)
      into owners, found_all
      from (select w.*, row_number() over (partition by w.kind, w.hash order by w.i) = 1 as first
              from unnest(kinds, hashes, ids) with ordinality w(kind, hash, id, i)) w
      left join lateral (
        select k.job_id from doorbell.job_keys k
         where k.tenant_id = take_keys.tenant and k.kind = w.kind and k.key_hash = w.hash offset 0) k on true;
    exit when found_all;                                    -- else a key was removed in between: try again
  end loop;
  return owners;
end $$;

-- A tenant's weight; remembers a tenant that is new.
create or replace function doorbell.weight_of(tenant text) returns float8 language plpgsql as $$
declare
  weight float8;
begin
  select t.weight into weight from doorbell.tenants t where t.tenant_id = tenant;
  if not found and not exists (select from doorbell.newcomers c where c.tenant_id = tenant) then
    insert into doorbell.newcomers (tenant_id) values (tenant);
  end if;
  return weight;
end $$;

create or replace function doorbell.enqueue(
  tenant text, kind text, payload jsonb default '{}', id uuid default null, key text default null,
  run_after timestamptz default null, lane text default 'default', priority int default 0, max_attempts int default 5,
  object_key text default null, object_sha256 text default null, object_size bigint default null,
  limit_key text default null, traceparent text default null,
  out job_id uuid, out created boolean
) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
  owner  uuid;
  l      doorbell.lanes;
begin
  perform doorbell.clamp(enqueue.tenant, caller);
  perform doorbell.check_job(enqueue.kind, enqueue.priority, enqueue.max_attempts);
  perform doorbell.check_size(enqueue.payload, format('the payload of a job of kind "%s"', enqueue.kind));
  l := doorbell.require_lane(enqueue.lane);
  job_id := coalesce(enqueue.id, doorbell.new_id());

  if enqueue.key is not null then
    owner := (doorbell.take_keys(enqueue.tenant, array[enqueue.kind], array[sha256(convert_to(enqueue.key, 'UTF8'))], array[job_id]))[1];
  end if;
  if owner is null and enqueue.id is not null then
    owner := (doorbell.take_keys(enqueue.tenant, array[''], array[uuid_send(enqueue.id)], array[enqueue.id]))[1];
    if owner is null then       -- the key was free, but the id may be one that we once gave out
      select j.id into owner from doorbell.all_jobs j where j.tenant_id = enqueue.tenant and j.id = enqueue.id;
    end if;
  end if;
  created := owner is null;
  job_id := coalesce(owner, job_id);

  if created then
    insert into doorbell.jobs (tenant_id, id, kind, lane, payload, priority, max_attempts, run_after, object_key,
                               object_sha256, object_size, idempotency_key, limit_key, traceparent)
    values (enqueue.tenant, enqueue.job_id, enqueue.kind, enqueue.lane, coalesce(enqueue.payload, '{}'), enqueue.priority,
            enqueue.max_attempts, coalesce(enqueue.run_after, now()), enqueue.object_key, enqueue.object_sha256,
            enqueue.object_size, enqueue.key, enqueue.limit_key, enqueue.traceparent);
    if enqueue.run_after > now() then
      insert into doorbell.doorbells (lane, tenant_id, priority, job_id, ring_at)
      values (enqueue.lane, enqueue.tenant, enqueue.priority, enqueue.job_id, enqueue.run_after);
      perform doorbell.weight_of(enqueue.tenant);
    else
      insert into doorbell.doorbells (lane, turn, tenant_id, priority, job_id)
      values (enqueue.lane,
              doorbell.next_turn(l, enqueue.tenant, enqueue.priority,
                                 doorbell.step(doorbell.weight_of(enqueue.tenant), enqueue.priority)),
              enqueue.tenant, enqueue.priority, enqueue.job_id);
    end if;
  end if;
  perform doorbell.unclamp(caller);
end $$;

-- Many jobs, several tenants, one statement. Each element is an object whose members are named as enqueue's arguments
-- are. The answers carry the position of the element, from 1. Where two elements have one key or id, the first wins.
create or replace function doorbell.enqueue_many(jobs jsonb)
returns table (n bigint, job_id uuid, created boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
  part   record;
  owners uuid[];     -- whose job each element is; null: a new one
  by_id  uuid[];
begin
  for part in
    select (j.job).tenant, array_agg(j.job order by j.n) as jobs, array_agg(j.n order by j.n) as ns,
           array_agg(coalesce((j.job).id, doorbell.new_id()) order by j.n) as ids,
           bool_or((j.job).key is not null) as keyed, bool_or((j.job).id is not null) as chosen,
           max(octet_length((j.job).payload::text)) as largest
      from (select p as job, row_number() over () as n
              from jsonb_populate_recordset(null::doorbell.new_job, enqueue_many.jobs) p) j
     group by 1 order by (j.job).tenant collate "C"
  loop
    perform doorbell.clamp(part.tenant, caller);
    perform doorbell.check_job(j.kind, coalesce(j.priority, 0), coalesce(j.max_attempts, 5)) from (
      select distinct j.kind, j.priority, j.max_attempts from unnest(part.jobs) j) j;
    if part.largest > 8192 then
      perform doorbell.check_size(j.payload, format('the payload of a job of kind "%s"', j.kind)) from unnest(part.jobs) j;
    end if;
    owners := array_fill(null::uuid, array[cardinality(part.ids)]);

    if part.keyed then
      select doorbell.take_keys(part.tenant, array_agg(j.kind order by j.i),
                                array_agg(sha256(convert_to(j.key, 'UTF8')) order by j.i), array_agg(part.ids[j.i] order by j.i))
        into owners
        from unnest(part.jobs) with ordinality j(tenant, kind, payload, id, key, run_after, lane, priority, max_attempts,
             object_key, object_sha256, object_size, limit_key, traceparent, i);
    end if;

    if part.chosen then
      select doorbell.take_keys(part.tenant, array_agg(''::text order by j.i),
                                array_agg(case when owners[j.i] is null then uuid_send(j.id) end order by j.i),
                                array_agg(part.ids[j.i] order by j.i))
        into by_id
        from unnest(part.jobs) with ordinality j(tenant, kind, payload, id, key, run_after, lane, priority, max_attempts,
             object_key, object_sha256, object_size, limit_key, traceparent, i);
      -- Where that key was free, the id may be one that we once gave out.
      select array_agg(coalesce(owners[w.i], by_id[w.i], old.id) order by w.i) into owners
        from unnest(part.ids) with ordinality w(id, i)
        left join lateral (
          select j.id from doorbell.all_jobs j where j.tenant_id = part.tenant and j.id = w.id offset 0) old
          on (part.jobs[w.i]).id is not null;
    end if;

    return query
    with input as materialized (
      select j.*, part.ns[j.i] as n, coalesce(owners[j.i], part.ids[j.i]) as job_id, owners[j.i] is null as fresh,
             coalesce(j.lane, 'default') as in_lane, coalesce(j.priority, 0) as prio
        from unnest(part.jobs) with ordinality j(tenant, kind, payload, id, key, run_after, lane, priority, max_attempts,
             object_key, object_sha256, object_size, limit_key, traceparent, i)),
    job as (
      insert into doorbell.jobs (tenant_id, id, kind, lane, payload, priority, max_attempts, run_after, object_key,
                                 object_sha256, object_size, idempotency_key, limit_key, traceparent)
      select part.tenant, j.job_id, j.kind, j.in_lane, coalesce(j.payload, '{}'), j.prio, coalesce(j.max_attempts, 5),
             coalesce(j.run_after, now()), j.object_key, j.object_sha256, j.object_size, j.key, j.limit_key, j.traceparent
        from input j where j.fresh),
    alarm as (
      insert into doorbell.doorbells (lane, tenant_id, priority, job_id, ring_at)
      select j.in_lane, part.tenant, j.prio, j.job_id, j.run_after
        from input j where j.fresh and j.run_after > now()),
    flow as materialized (
      select f.*, doorbell.next_turn(doorbell.require_lane(f.in_lane), part.tenant, f.prio, f.step) as start
        from (select d.in_lane, d.prio, doorbell.step(w.weight, d.prio) as step
                from doorbell.weight_of(part.tenant) w(weight),
                     (select distinct j.in_lane, j.prio from input j) d offset 0) f),
    bell as (
      insert into doorbell.doorbells (lane, turn, tenant_id, priority, job_id)
      select f.in_lane, f.start + (row_number() over (partition by f.in_lane, f.prio order by j.i) - 1) * f.step,
             part.tenant, f.prio, j.job_id
        from flow f join input j on j.in_lane = f.in_lane and j.prio = f.prio
       where j.fresh and (j.run_after > now()) is not true)
    select j.n, j.job_id, j.fresh from input j;
  end loop;
  perform doorbell.unclamp(caller);
end $$;
