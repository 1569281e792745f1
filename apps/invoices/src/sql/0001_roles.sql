-- The application's two roles, and its schema. Run by whoever may create roles, after Doorbell's own migration.
--
-- invoices_owner  owns the schema and migrates it. Cannot log in, and is bound by FORCE ROW LEVEL SECURITY like everyone.
-- invoices_app    the login of web and worker processes. Never an owner. It has no password here: that is the deployment's.

do $$
declare
  attributes constant text := 'nosuperuser nobypassrls nocreaterole nocreatedb noreplication';
begin
  if not exists (select from pg_roles where rolname = 'invoices_owner') then
    execute 'create role invoices_owner nologin ' || attributes;
  end if;
  if not exists (select from pg_roles where rolname = 'invoices_app') then
    execute 'create role invoices_app login ' || attributes;
  end if;

  -- A migrator that is not a superuser must be able to become the owner. From 16 on, whoever makes a role is a member of
  -- it, and may not become it until it is granted that as well.
  if current_setting('server_version_num')::int < 160000 then
    if not pg_has_role(current_user, 'invoices_owner', 'MEMBER') then
      execute format('grant invoices_owner to %I', current_user);
    end if;
  elsif not pg_has_role(current_user, 'invoices_owner', 'SET') then
    execute format('grant invoices_owner to %I with set true, inherit false', current_user);
  end if;
end $$;

create schema if not exists invoices authorization invoices_owner;

-- One login for both roles of the binary. In separate deployments, give web and worker a login each.
grant doorbell_web, doorbell_worker to invoices_app;
