// What a login lacks to migrate, as the SQL that gives it: for a DBA who does not hand out CREATEROLE. Reads the catalogs
// only, so it works for a login that may do nothing.
import type { Tx } from "./database.ts";

interface Missing {
  readonly login: string;
  readonly roles: readonly string[];
  readonly mayMakeRoles: boolean;
  readonly mayBecomeOwner: boolean;
  /** Where the word is needed: PostgreSQL 16 and newer. */
  readonly grantsBySet: boolean;
  readonly schemaOwner: string | null;
  readonly mayMakeSchema: boolean;
  readonly migrated: boolean;
}

/**
 * Statements for a superuser, in order. Where a migrated schema is there it is the right to see of which version. Empty: it
 * lacks nothing that is known here.
 */
export async function missingToMigrate(tx: Tx): Promise<readonly string[]> {
  const [row] = await tx.query<Missing>(`
    with me as (
      select r.oid, r.rolsuper or r.rolcreaterole as makes_roles, current_setting('server_version_num')::int >= 160000 as by_set
        from pg_roles r where r.rolname = current_user)
    select quote_ident(current_user) as login,
           array(select o.name from unnest(array['doorbell_owner', 'doorbell_worker', 'doorbell_web', 'doorbell_producer',
                                                 'doorbell_reader']) with ordinality o(name, n)
                  where not exists (select from pg_roles r where r.rolname = o.name) order by o.n) as roles,
           me.makes_roles as "mayMakeRoles",
           coalesce((select case when me.by_set then pg_has_role(me.oid, o.oid, 'SET') or pg_has_role(me.oid, o.oid, 'USAGE WITH ADMIN OPTION')
                                 else me.makes_roles or pg_has_role(me.oid, o.oid, 'MEMBER') end
                       from pg_roles o where o.rolname = 'doorbell_owner'), me.makes_roles) as "mayBecomeOwner",
           me.by_set as "grantsBySet",
           (select n.nspowner::regrole::text from pg_namespace n where n.nspname = 'doorbell') as "schemaOwner",
           has_database_privilege(current_database(), 'create') as "mayMakeSchema",
           exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
                    where n.nspname = 'doorbell' and c.relname = 'migrations') as migrated
      from me`);
  return row === undefined ? [] : statementsFor(row);
}

function statementsFor(missing: Missing): readonly string[] {
  const { login, roles, mayMakeRoles, mayBecomeOwner, grantsBySet, schemaOwner, mayMakeSchema, migrated } = missing;
  if (migrated && !mayBecomeOwner) return [`grant doorbell_reader to ${login}`];
  const statements = mayMakeRoles ? [] : roles.map((role) => `create role ${role} nologin`);
  if (!mayBecomeOwner)
    statements.push(`grant doorbell_owner to ${login}${grantsBySet ? " with set true, inherit false" : ""}`);
  if (schemaOwner === null && !mayMakeSchema) statements.push("create schema doorbell authorization doorbell_owner");
  if (schemaOwner !== null && schemaOwner !== "doorbell_owner")
    statements.push("alter schema doorbell owner to doorbell_owner");
  return statements;
}
