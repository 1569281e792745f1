// What leads past a table's policies: keys that hold over all tenants, and views and functions that read it as somebody
// else. Nothing here judges. Names are as they are written in SQL.
import type { Tx } from "./database.ts";

export interface UniqueKey {
  readonly name: string;
  /** Of a primary key or unique constraint, as in `alter table … add`. Null: an index without a constraint. */
  readonly constraint: string | null;
  /** Its `create unique index`. */
  readonly index: string;
}

/** The table's unique indexes that do not mention the column. */
export function uniqueKeysWithout(tx: Tx, table: number, column: string): Promise<readonly UniqueKey[]> {
  return tx.query<UniqueKey>(
    `select case when k.oid is null then i.indexrelid::regclass::text else quote_ident(k.conname) end as name,
            pg_get_constraintdef(k.oid) as constraint, pg_get_indexdef(i.indexrelid) as index
       from pg_index i left join pg_constraint k on k.conindid = i.indexrelid and k.contype in ('p', 'u')
      where i.indrelid = $1 and i.indisunique and not ${mentions("i.indrelid", "i.indkey::int2[]")}
      order by 1`,
    [table, column],
  );
}

export interface ForeignKey {
  readonly name: string;
  /** As in `alter table … add`. */
  readonly constraint: string;
  readonly columns: string;
  readonly target: string;
  readonly targetColumns: string;
  /** The referenced table has a unique key of exactly these columns and the tenant's. */
  readonly targetHasKey: boolean;
}

/** The table's foreign keys that leave the column out although both tables have it. */
export function foreignKeysWithout(tx: Tx, table: number, column: string): Promise<readonly ForeignKey[]> {
  return tx.query<ForeignKey>(
    `select quote_ident(k.conname) as name, pg_get_constraintdef(k.oid) as constraint,
            ${columnList("k.conrelid", "k.conkey")} as columns, k.confrelid::regclass::text as target,
            ${columnList("k.confrelid", "k.confkey")} as "targetColumns",
            exists (select from pg_index i where i.indrelid = k.confrelid and i.indisunique and i.indpred is null
                       and i.indnkeyatts = cardinality(k.confkey) + 1
                       and (k.confkey || t.attnum) <@ i.indkey::int2[]) as "targetHasKey"
       from pg_constraint k
       join pg_attribute t on t.attrelid = k.confrelid and t.attname = $2 and not t.attisdropped
      where k.conrelid = $1 and k.contype = 'f' and not ${mentions("k.conrelid", "k.conkey")}
      order by 1`,
    [table, column],
  );
}

/** Views that the login may read, and that read the table as an owner whom its policies do not bind. */
export async function viewsAround(tx: Tx, table: number): Promise<readonly string[]> {
  const rows = await tx.query<{ name: string }>(
    `select distinct v.oid::regclass::text as name
       from pg_class t
       join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = t.oid and d.classid = 'pg_rewrite'::regclass
       join pg_rewrite w on w.oid = d.objid
       join pg_class v on v.oid = w.ev_class and v.relkind = 'v'
       join pg_roles o on o.oid = v.relowner
      where t.oid = $1 and has_any_column_privilege(v.oid, 'select')
        and not exists (select from pg_options_to_table(v.reloptions)
                         where option_name = 'security_invoker' and option_value::boolean)
        and (o.rolsuper or o.rolbypassrls
             or (not t.relforcerowsecurity and pg_has_role(v.relowner, t.relowner, 'usage')))
      order by 1`,
    [table],
  );
  return rows.map((row) => row.name);
}

export interface DefinerFunction {
  readonly signature: string;
  readonly schema: string;
}

/** Functions that the login may call, that act as the table's owner, and that look names up in the caller's search_path. */
export function unpinnedFunctionsOf(tx: Tx, table: number): Promise<readonly DefinerFunction[]> {
  return tx.query<DefinerFunction>(
    `select p.oid::regprocedure::text as signature, p.pronamespace::regnamespace::text as schema
       from pg_proc p join pg_class t on t.relowner = p.proowner
      where t.oid = $1 and p.prosecdef and p.prokind = 'f' and p.pronamespace <> 'pg_catalog'::regnamespace
        and has_function_privilege(p.oid, 'execute')
        and not exists (select from unnest(p.proconfig) c where c like 'search_path=%')
      order by 1`,
    [table],
  );
}

function mentions(table: string, columns: string): string {
  return `exists (select from pg_attribute a where a.attrelid = ${table} and a.attname = $2 and a.attnum = any(${columns}))`;
}

function columnList(table: string, columns: string): string {
  return `(select string_agg(quote_ident(a.attname), ', ' order by part.n) from unnest(${columns}) with ordinality part(attnum, n)
             join pg_attribute a on a.attrelid = ${table} and a.attnum = part.attnum)`;
}
