-- The five roles, and the schema. Run by whoever may create roles; safe to run again, and by several at once.
--
-- doorbell_owner     owns and migrates. Cannot log in, and is bound by FORCE ROW LEVEL SECURITY like everyone.
-- doorbell_worker    claims, ticks, settles, sweeps.
-- doorbell_web       the functions that serve one tenant, and reading under the clamp. Cannot claim.
-- doorbell_producer  enqueues, and nothing else: for the application's own login.
-- doorbell_reader    for dashboards that speak SQL: what belongs to no tenant (workers, lanes, settings, migrations).
--
-- None of them can log in: grant them to logins. One login may hold worker and web, for the role `all`.

do $$
declare
  name text;
begin
  perform pg_advisory_xact_lock(hashtextextended('doorbell.migrate', 0));
  foreach name in array array['doorbell_owner', 'doorbell_worker', 'doorbell_web', 'doorbell_producer', 'doorbell_reader'] loop
    if not exists (select from pg_roles where rolname = name) then
      begin
        execute format('create role %I nologin nosuperuser nobypassrls nocreaterole nocreatedb noreplication', name);
      exception when duplicate_object or unique_violation then
        null;   -- roles are the cluster's, the lock is this database's: another database's migration was first
      end;
    end if;
  end loop;

  -- A migrator that is not a superuser must be able to become the owner; it should not inherit from it. From 16 on, whoever
  -- makes a role is a member of it, and may not become it until it is granted that as well.
  if current_setting('server_version_num')::int < 160000 then
    if not pg_has_role(current_user, 'doorbell_owner', 'MEMBER') then
      execute format('grant doorbell_owner to %I', current_user);
    end if;
  elsif not pg_has_role(current_user, 'doorbell_owner', 'SET') then
    execute format('grant doorbell_owner to %I with set true, inherit false', current_user);
  end if;

  if not exists (select from pg_namespace where nspname = 'doorbell') then
    create schema doorbell authorization doorbell_owner;
  end if;
end $$;
