// What can be seen of the login and of the schema: the doctor's questions. They read the catalogs only, as whoever is
// connected, so they work for a login that may do nothing. Nothing here judges.
import type { Tx } from "./database.ts";
import { type SchemaState, schemaState } from "./migrate.ts";

/** Rejects when Postgres does not answer. */
export async function ping(tx: Tx): Promise<void> {
  await tx.query("select 1");
}

/** For the rest of the transaction the catalogs print every name with its schema, whatever the login's search_path. */
export async function qualifyNames(tx: Tx): Promise<void> {
  await tx.query("set local search_path = pg_catalog, pg_temp");
}

export interface LoginFacts {
  /** As it is written in SQL, quoted where it has to be. */
  readonly name: string;
  readonly superuser: boolean;
  readonly bypassesRls: boolean;
  /** Reads the write-ahead log, where every tenant's rows are. */
  readonly replicates: boolean;
  /** More that it need not have, as `alter role` writes it. */
  readonly attributes: readonly string[];
  /** Owners of tables of ours that the login is, or is a member of. */
  readonly ownersOfOurs: readonly string[];
  /**
   * Other roles that it is a member of, or may make itself a member of, and that get past row-level security or our
   * functions: by SUPERUSER, BYPASSRLS or REPLICATION, by the server's files and programs, or by reading or writing every table.
   */
  readonly dangerousRoles: readonly string[];
  /** Owners of tables or functions of ours that row-level security does not bind, FORCE or not. */
  readonly unboundOwners: readonly string[];
  /** Of the server: `startEmbeddedPostgres` started it. */
  readonly embedded: boolean;
}

/** Asks for the login and for what SET ROLE has made of it: RESET ROLE undoes that. */
export async function inspectLogin(tx: Tx): Promise<LoginFacts> {
  const [facts] = await tx.query<LoginFacts>(`
    with me as (
      select bool_or(rolsuper) as superuser, bool_or(rolbypassrls) as bypasses_rls, bool_or(rolreplication) as replicates,
             bool_or(rolcreaterole) as creates_roles, bool_or(rolcreatedb) as creates_databases,
             -- Before 16, CREATEROLE could grant itself any role that is no superuser.
             bool_or(rolcreaterole) and current_setting('server_version_num')::int < 160000 as may_join_any
        from pg_roles where rolname in (session_user, current_user)),
    others as (
      select r.oid, r.rolname::text as name, r.rolsuper or r.rolbypassrls or r.rolreplication
               or r.rolname in ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program',
                                'pg_read_all_data', 'pg_write_all_data') as unbound,
             pg_has_role(session_user, r.oid, 'member') or (me.may_join_any and not r.rolsuper) as within_reach
        from pg_roles r, me)
    select quote_ident(session_user) as name, me.superuser, me.bypasses_rls as "bypassesRls", me.replicates,
           array_remove(array[case when me.creates_roles then 'createrole' end, case when me.creates_databases then 'createdb' end],
                        null) as attributes,
           array(select distinct o.name from others o join pg_class c on c.relowner = o.oid
                   join pg_namespace n on n.oid = c.relnamespace
                  where n.nspname = 'doorbell' and o.within_reach order by 1) as "ownersOfOurs",
           array(select o.name from others o
                  where o.unbound and o.within_reach and o.name not in (session_user, current_user) order by 1) as "dangerousRoles",
           array(select r.rolname::text from pg_roles r
                  where (r.rolsuper or r.rolbypassrls)
                    and (exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
                                  where n.nspname = 'doorbell' and c.relowner = r.oid)
                         or exists (select from pg_proc p join pg_namespace n on n.oid = p.pronamespace
                                     where n.nspname = 'doorbell' and p.proowner = r.oid)) order by 1) as "unboundOwners",
           coalesce(current_setting('doorbell.embedded', true), '') = 'on' as embedded
      from me`);
  return facts as LoginFacts;
}

/** Those of these functions of schema doorbell that the login may not call; all of them where there is no schema. */
export async function functionsNotGranted(tx: Tx, names: readonly string[]): Promise<readonly string[]> {
  const rows = await tx.query<{ name: string }>(
    `select f.name from jsonb_array_elements_text(($1::text)::jsonb) f(name)
      where not exists (
        select from pg_proc p join pg_namespace n on n.oid = p.pronamespace
         where n.nspname = 'doorbell' and p.proname = f.name and has_schema_privilege(n.oid, 'usage')
           and has_function_privilege(p.oid, 'execute'))`,
    [JSON.stringify(names)],
  );
  return rows.map((row) => row.name);
}

/** Null: this login may not read which migrations there are. */
export async function inspectSchema(tx: Tx): Promise<SchemaState | null> {
  const [access] = await tx.query<{ readable: boolean }>(`
    select not exists (select from pg_namespace where nspname = 'doorbell')
           or exists (select from pg_namespace n join pg_class c on c.relnamespace = n.oid and c.relname = 'migrations'
                       where n.nspname = 'doorbell' and has_schema_privilege(n.oid, 'usage')
                         and has_table_privilege(c.oid, 'select')) as readable`);
  return access?.readable ? await schemaState(tx) : null;
}

export interface TenantTable {
  readonly oid: number;
  readonly name: string;
  /** Row-level security is enabled. */
  readonly enabled: boolean;
  /** It binds the table's owner too. */
  readonly forced: boolean;
  /** The login may read at least one column. */
  readonly readable: boolean;
  /** Its tenant_id may be null. */
  readonly nullable: boolean;
  /** Nothing checks its tenant_id, which may be the empty string. */
  readonly unchecked: boolean;
  /** Each as `create policy` has it, conditions as Postgres writes them, in order of their names. */
  readonly policies: readonly string[];
  /** As they are written in SQL. */
  readonly policyNames: readonly string[];
}

/** Every table of schema doorbell that has a tenant_id, partitions included. */
export function inspectTenantTables(tx: Tx): Promise<readonly TenantTable[]> {
  return tx.query<TenantTable>(`
    select c.oid::int8 as oid, c.relname::text as name, c.relrowsecurity as enabled, c.relforcerowsecurity as forced,
           has_schema_privilege(n.oid, 'usage') and has_any_column_privilege(c.oid, 'select') as readable,
           not a.attnotnull as nullable,
           not exists (select from pg_constraint k where k.conrelid = c.oid and k.contype = 'c' and a.attnum = any (k.conkey)) as unchecked,
           array(select format('%s%s%s%s using (%s) with check (%s)', p.polname,
                               case when p.polpermissive then '' else ' as restrictive' end,
                               case p.polcmd when '*' then '' else format(' for %s', p.polcmd) end,
                               case p.polroles when '{0}' then '' else format(' to %s', p.polroles::regrole[]) end,
                               pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
                   from pg_policy p where p.polrelid = c.oid order by p.polname) as policies,
           array(select quote_ident(p.polname) from pg_policy p where p.polrelid = c.oid order by p.polname) as "policyNames"
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
     where n.nspname = 'doorbell' and c.relkind in ('r', 'p')
     order by 2`);
}

export interface OtherTable {
  /** As it is written in SQL. */
  readonly name: string;
  readonly kind: "table" | "foreign table";
  /** Who beside its owner may read it. */
  readonly grantees: readonly string[];
}

/** Tables of schema doorbell, foreign ones too, that belong to no tenant and that others than their owners may read. */
export function inspectOtherTables(tx: Tx): Promise<readonly OtherTable[]> {
  return tx.query<OtherTable>(`
    select quote_ident(c.relname) as name, case c.relkind when 'f' then 'foreign table' else 'table' end as kind,
           array_agg(distinct case g.grantee when 0 then 'PUBLIC' else g.grantee::regrole::text end) as grantees
      from pg_class c,
           lateral (select a.grantee from aclexplode(c.relacl) a where a.privilege_type = 'SELECT'
                     union
                    select a.grantee from pg_attribute t, aclexplode(t.attacl) a
                     where t.attrelid = c.oid and a.privilege_type = 'SELECT') g
     where c.relnamespace = (select oid from pg_namespace where nspname = 'doorbell') and g.grantee <> c.relowner
       and (c.relkind = 'f' or c.relkind in ('r', 'p')
            and not exists (select from pg_attribute a
                             where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped))
     group by c.oid order by 1`);
}

/** The most that a payload, a result or an effect's value may have as JSON, as it is set in this database. */
export async function valueMaxBytes(tx: Tx): Promise<number> {
  const [row] = await tx.query<{ bytes: number }>(
    "select value::text::int as bytes from doorbell.settings where name = 'max_value_bytes'",
  );
  if (row === undefined) throw new Error("doorbell.settings has no max_value_bytes: restore the row, 65536 by default");
  return row.bytes;
}

/** The clamp in force, by one setting; empty for none. */
export async function currentClamp(tx: Tx, setting: string): Promise<string> {
  const [row] = await tx.query<{ clamp: string }>("select coalesce(current_setting($1, true), '') as clamp", [setting]);
  return row?.clamp ?? "";
}

/** What a session's settings may be kept with, as it is written in SQL. */
export async function settingsOwners(tx: Tx): Promise<{ readonly database: string; readonly login: string }> {
  const [owners] = await tx.query<{ database: string; login: string }>(
    "select quote_ident(current_database()) as database, quote_ident(session_user) as login",
  );
  return owners as { database: string; login: string };
}

/** Whether one statement claims the jobs of several tenants on this server. For doorbell_worker. */
export async function canary(tx: Tx): Promise<boolean> {
  const [row] = await tx.query<{ alive: boolean }>("select doorbell.canary() as alive");
  return row?.alive ?? false;
}
