-- Lines that handlers and stages say, many jobs at once. For doorbell_worker. A batch sent twice is stored once. Not
-- fenced: a line says what an attempt did, and carries that attempt's number.
create or replace function doorbell.write_logs(
  tenants text[], ids uuid[], attempts int[], ns int[], ats timestamptz[], levels text[], stages text[], messages text[], fields jsonb[])
returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
begin
  perform doorbell.guard(write_logs.tenants, caller);
  insert into doorbell.job_logs (tenant_id, job_id, attempt, n, at, level, stage, message, fields)
  select set_config('doorbell.tenant_id', l.tenant_id, true), l.id, l.attempt, l.n, l.at, l.level, l.stage, l.message, l.fields
    from (select * from unnest(tenants, ids, attempts, ns, ats, levels, stages, messages, fields)
                        l(tenant_id, id, attempt, n, at, level, stage, message, fields)
           order by l.tenant_id collate "C", l.id, l.attempt, l.n) l
  on conflict do nothing;
  perform doorbell.unclamp(caller);
end $$;
