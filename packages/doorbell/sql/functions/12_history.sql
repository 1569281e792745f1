-- Retention. For doorbell_worker. A settled job goes with all that belongs to it, retention_days after it settled: its
-- row by dropping its day's partition, the rest tenant by tenant before that. Unfinished jobs and dead letters never go.

-- Makes the partitions of today and the next days, if they are not there. A day whose rows have already gone to the
-- default partition stays there. It takes a lock that every settle would queue behind, so it does not wait for a reader
-- either: a later call tries again, days before the partition is needed.
create or replace function doorbell.add_partitions(ahead int default 7) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' set lock_timeout = '100ms' as $$
declare
  day  date;
  name text;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('doorbell.history', 0)) then
    return;   -- another process makes them
  end if;
  for day in select generate_series(current_date, current_date + ahead, '1 day')::date loop
    name := 'job_history_' || to_char(day, 'YYYYMMDD');
    continue when to_regclass('doorbell.' || name) is not null;
    begin
      execute format('create table doorbell.%I partition of doorbell.job_history for values from (%L) to (%L)', name, day, day + 1);
      perform doorbell.force_tenancy(name);
    exception when check_violation then
      raise notice 'doorbell: jobs that settled on % are in the default partition and stay there', day;
    when lock_not_available then
      raise notice 'doorbell: somebody reads the history, its partition for % is made later', day;
      return;
    end;
  end loop;
end $$;

-- Removes what belongs to jobs that settled before the retention began, for one chunk of tenants from `after`; `last` is
-- where it ended. When there are no more tenants: drops the partitions that are over, without waiting for a reader (a
-- later call tries again), and last is null.
create or replace function doorbell.retire(after text default '', chunk int default 100, out last text, out jobs bigint, out dropped int)
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' set lock_timeout = '100ms' as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
  before constant date := current_date - (doorbell.setting('retention_days'))::int;
  tenants text[];
  tenant  text;
  gone    uuid[];
  name    text;
begin
  jobs := 0; dropped := 0;
  perform doorbell.open_line(caller);
  select array_agg(c.tenant_id), max(c.tenant_id) into tenants, last
    from (select r.tenant_id from doorbell.tenants r where r.tenant_id > after order by r.tenant_id limit chunk) c;

  foreach tenant in array coalesce(tenants, '{}') loop
    perform set_config('doorbell.tenant_id', tenant, true);
    if exists (select from doorbell.events e where e.tenant_id = tenant and e.at < before) then
      delete from doorbell.events e      -- an open job may yet wait for what came since it was created
       where e.tenant_id = tenant and e.at < before
         and e.at < coalesce((select min(j.created_at) from doorbell.jobs j where j.tenant_id = tenant), 'infinity');
    end if;
    gone := array(select h.id from doorbell.job_history h where h.tenant_id = tenant and h.finished_at < before);
    continue when cardinality(gone) = 0;
    jobs := jobs + cardinality(gone);
    delete from doorbell.job_keys        d where d.tenant_id = tenant collate "POSIX" and d.job_id = any (gone);
    delete from doorbell.attempts        d where d.tenant_id = tenant and d.job_id = any (gone);
    delete from doorbell.job_logs        d where d.tenant_id = tenant and d.job_id = any (gone);
    delete from doorbell.effect_outcomes d where d.tenant_id = tenant and d.job_id = any (gone);
    delete from doorbell.effects         d where d.tenant_id = tenant and d.job_id = any (gone);
    delete from doorbell.steps           d where d.tenant_id = tenant and d.job_id = any (gone);
    delete from doorbell.children        d where d.tenant_id = tenant and d.parent_id = any (gone);
    delete from doorbell.webhook_deliveries d where d.tenant_id = tenant and d.job_id = any (gone);
    delete from doorbell.job_history_rest h where h.tenant_id = tenant and h.finished_at < before;
  end loop;

  if last is null then
    for name in
      select c.relname from pg_class c join pg_inherits i on i.inhrelid = c.oid
       where i.inhparent = 'doorbell.job_history'::regclass and c.relname ~ '^job_history_\d{8}$'
         and to_date(right(c.relname, 8), 'YYYYMMDD') < before order by 1
    loop
      begin
        execute format('drop table doorbell.%I', name);
        dropped := dropped + 1;
      exception when lock_not_available then
        raise notice 'doorbell: somebody reads %, it is dropped later', name;
      end;
    end loop;
  end if;
  perform doorbell.unclamp(caller);
end $$;
