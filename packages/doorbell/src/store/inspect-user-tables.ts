// What the catalogs say of a table of the user's and of the policies on it, as they concern the login that asks. Nothing
// here judges.
import type { Tx } from "./database.ts";

/** What may be done to rows: select, insert, update, delete, as pg_policy abbreviates them. */
export type Command = "r" | "a" | "w" | "d";

export interface UserPolicy {
  /** As it is written in SQL. */
  readonly name: string;
  readonly permissive: boolean;
  /** "*": all of them. */
  readonly command: Command | "*";
  /** The login has the rights of one of its roles, so Postgres applies it. */
  readonly applies: boolean;
  /** Conditions as Postgres writes them. Null: it has none. */
  readonly using: string | null;
  readonly check: string | null;
  /** The bodies of functions that its conditions call, where they are not Postgres' own. */
  readonly calls: string;
  /** Those of them that read a setting and are IMMUTABLE: a plan that is kept keeps what they answered. */
  readonly frozen: readonly string[];
}

export interface TenantColumn {
  readonly name: string;
  readonly type: string;
  readonly nullable: boolean;
  /** No check constraint has it. */
  readonly unchecked: boolean;
}

export interface UserTable {
  readonly oid: number;
  /** Schema and name, as they are written in SQL; so are the columns and roles below. */
  readonly name: string;
  readonly owner: string;
  /** The login is its owner, or may become it. */
  readonly ownedByLogin: boolean;
  /** Row-level security is enabled. */
  readonly enabled: boolean;
  /** It binds the table's owner too. */
  readonly forced: boolean;
  /** The login may read at least one column. */
  readonly readable: boolean;
  /** What the login may do to it, policies aside. */
  readonly granted: readonly Command[];
  /** Null: there is no such column. */
  readonly tenantColumn: TenantColumn | null;
  readonly policies: readonly UserPolicy[];
  /** Its partitions that the login may reach by their own names, where the policies above do not apply. */
  readonly partitions: readonly string[];
}

/** `name`: as in SQL, with its schema or in search_path. Null: there is no such table. Rejects for what is no name. */
export async function findUserTable(tx: Tx, name: string): Promise<number | null> {
  const [found] = await tx.query<{ oid: number }>(
    `select c.oid::int8 as oid
       from pg_class c join pg_namespace n on n.oid = c.relnamespace, parse_ident($1::text) part
      where c.relkind in ('r', 'p') and c.relname = part[cardinality(part)]
        and case cardinality(part) when 1 then n.nspname = any(current_schemas(false))
                                   when 2 then n.nspname = part[1] else false end
      order by array_position(current_schemas(false), n.nspname) limit 1`,
    [name],
  );
  return found?.oid ?? null;
}

/** Names are qualified where the transaction's are. Null: it has been dropped. */
export async function inspectUserTable(tx: Tx, oid: number, tenantColumn: string): Promise<UserTable | null> {
  const [table] = await tx.query<UserTable>(
    `
    select c.oid::int8 as oid, format('%s.%I', c.relnamespace::regnamespace, c.relname) as name,
           c.relowner::regrole::text as owner, pg_has_role(c.relowner, 'member') as "ownedByLogin",
           c.relrowsecurity as enabled, c.relforcerowsecurity as forced,
           has_schema_privilege(c.relnamespace, 'usage') and has_any_column_privilege(c.oid, 'select') as readable,
           array(select command from (values ('r', has_any_column_privilege(c.oid, 'select')),
                                             ('a', has_any_column_privilege(c.oid, 'insert')),
                                             ('w', has_any_column_privilege(c.oid, 'update')),
                                             ('d', has_table_privilege(c.oid, 'delete'))) g(command, granted)
                  where granted) as granted,
           (select jsonb_build_object('name', quote_ident(a.attname), 'type', format_type(a.atttypid, null),
                                      'nullable', not a.attnotnull,
                                      'unchecked', not exists (select from pg_constraint k where k.conrelid = c.oid
                                                                  and k.contype = 'c' and a.attnum = any (k.conkey)))
              from pg_attribute a where a.attrelid = c.oid and a.attname = $2 and not a.attisdropped) as "tenantColumn",
           coalesce((select jsonb_agg(jsonb_build_object(
                       'name', quote_ident(p.polname), 'permissive', p.polpermissive, 'command', p.polcmd,
                       'applies', p.polroles = '{0}'
                                  or exists (select from unnest(p.polroles) r where r <> 0 and pg_has_role(r, 'usage')),
                       'using', pg_get_expr(p.polqual, p.polrelid), 'check', pg_get_expr(p.polwithcheck, p.polrelid),
                       'calls', coalesce((select string_agg(coalesce(pg_get_function_sqlbody(f.oid), f.prosrc), ' ')
                                            from pg_depend d join pg_proc f on f.oid = d.refobjid
                                           where d.classid = 'pg_policy'::regclass and d.objid = p.oid
                                             and d.refclassid = 'pg_proc'::regclass), ''),
                       'frozen', array(select f.oid::regprocedure::text
                                         from pg_depend d join pg_proc f on f.oid = d.refobjid
                                        where d.classid = 'pg_policy'::regclass and d.objid = p.oid
                                          and d.refclassid = 'pg_proc'::regclass and f.provolatile = 'i'
                                          and coalesce(pg_get_function_sqlbody(f.oid), f.prosrc) ~* 'current_setting' order by 1))
                       order by p.polname)
                       from pg_policy p where p.polrelid = c.oid), '[]') as policies,
           array(select i.inhrelid::regclass::text from pg_inherits i join pg_class part on part.oid = i.inhrelid
                  where i.inhparent = c.oid and part.relkind in ('r', 'p')
                    and (has_any_column_privilege(i.inhrelid, 'select, insert, update')
                         or has_table_privilege(i.inhrelid, 'delete')) order by 1) as partitions
      from pg_class c where c.oid = $1`,
    [oid, tenantColumn],
  );
  return table ?? null;
}
