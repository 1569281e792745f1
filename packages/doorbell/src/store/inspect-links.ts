// What leads past the policies of tables: keys that hold over all tenants, views and copies that show rows to whom the
// policies do not bind, what is readable beside them. One round trip for all tables that are asked about. They read the
// catalogs only, as the login that asks; nothing here judges. Names are as they are written in SQL.
import type { Tx } from "./database.ts";

export interface UniqueKey {
  readonly table: string;
  readonly name: string;
  /** Of a primary key or a unique or exclusion constraint, as in `alter table … add`. Null: an index without a constraint. */
  readonly constraint: string | null;
  /** Its `create unique index`. */
  readonly index: string;
}

export interface ForeignKey {
  readonly table: string;
  readonly name: string;
  /** As in `alter table … add`. */
  readonly constraint: string;
  readonly columns: string;
  readonly target: string;
  readonly targetColumns: string;
  /** The referenced table has a unique key of exactly these columns and the tenant's. */
  readonly targetHasKey: boolean;
}

export interface Exposure {
  readonly table: string;
  /** What lets its rows out. */
  readonly culprit: string;
  /** A view reads as its owner, a materialized view has kept the rows, a foreign table has them elsewhere. */
  readonly kind: "view" | "materialized view" | "foreign table";
  readonly owner: string;
  /** What the login may read of it: itself, or a view above it. */
  readonly through: string;
  /** Who is granted a read of `through`, and has handed it on to the login; empty where the login owns it. */
  readonly grantees: readonly string[];
}

export interface Publication {
  readonly table: string;
  readonly publication: string;
  /** What has to be taken out of it: the table, its whole schema, or (`everything`) nothing can be. */
  readonly part: "table" | "schema" | "everything";
  readonly schema: string;
}

export interface SequenceGrant {
  readonly table: string;
  readonly sequence: string;
  readonly grantees: readonly string[];
}

export interface EnumColumn {
  readonly table: string;
  readonly column: string;
  readonly type: string;
  /** The labels as SQL literals, with commas. */
  readonly labels: string;
  /** The default's label, as an SQL literal. Null: it has none, or it is no plain label. */
  readonly preset: string | null;
}

export interface WideGrant {
  readonly table: string;
  /** PUBLIC, or a role whose rights the login has. */
  readonly grantee: string;
  /** In lower case, with commas: what row-level security does not bind, and everything that PUBLIC has. */
  readonly privileges: string;
}

export interface Links {
  readonly keys: readonly UniqueKey[];
  readonly references: readonly ForeignKey[];
  readonly exposures: readonly Exposure[];
  readonly unlogged: readonly string[];
  readonly publications: readonly Publication[];
  readonly sequences: readonly SequenceGrant[];
  readonly enums: readonly EnumColumn[];
  readonly grants: readonly WideGrant[];
}

/** `column`: the tenant's, as the catalog has it; tables without it are left out of what is asked of keys. */
export async function inspectLinks(tx: Tx, tables: readonly number[], column: string): Promise<Links> {
  const [links] = await tx.query<Links>(
    `with recursive
     asked as (
       select c.oid, c.relnamespace, c.relowner, c.relpersistence, c.relforcerowsecurity, c.relacl,
              format('%s.%I', c.relnamespace::regnamespace, c.relname) as name, a.attnum as tenant
         from pg_class c left join pg_attribute a on a.attrelid = c.oid and a.attname = $2 and not a.attisdropped
        where c.oid = any ($1::oid[])),
     reads as (
       select distinct w.ev_class as view, d.refobjid as relation
         from pg_rewrite w
         join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid and d.refclassid = 'pg_class'::regclass
        where w.ev_type = '1' and w.ev_class <> d.refobjid),
     views as (
       select c.oid, c.relkind, c.relowner, o.rolsuper or o.rolbypassrls as unbound,
              exists (select from pg_options_to_table(c.reloptions)
                       where option_name = 'security_invoker' and option_value::boolean) as invoker
         from pg_class c join pg_roles o on o.oid = c.relowner where c.relkind in ('v', 'm')),
     above as (
       select t.oid as relation, r.view from asked t join reads r on r.relation = t.oid
        union
       select a.relation, r.view from above a join reads r on r.relation = a.view),
     culprits as (
       -- The one that touches the table decides as whom it is read.
       select t.oid as relation, v.oid as culprit
         from asked t join reads r on r.relation = t.oid join views v on v.oid = r.view
        where v.relkind = 'v' and not v.invoker
          and (v.unbound or (not t.relforcerowsecurity and pg_has_role(v.relowner, t.relowner, 'usage')))
        union
       select a.relation, v.oid from above a join views v on v.oid = a.view and v.relkind = 'm'
        union
       select t.oid, f.oid from asked t join pg_inherits i on i.inhparent = t.oid join pg_class f on f.oid = i.inhrelid and f.relkind = 'f'),
     exposed as (
       select c.relation, c.culprit, c.culprit as through from culprits c
        union
       select e.relation, e.culprit, v.oid
         from exposed e join reads r on r.relation = e.through join views v on v.oid = r.view
        where not v.invoker or has_any_column_privilege(e.through, 'select'))
     select
       coalesce((select jsonb_agg(k order by k.table, k.name) from (
         select t.name as table, case when k.oid is null then i.indexrelid::regclass::text else quote_ident(k.conname) end as name,
                pg_get_constraintdef(k.oid) as constraint, pg_get_indexdef(i.indexrelid) as index
           from asked t join pg_index i on i.indrelid = t.oid
           left join pg_constraint k on k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x')
          where (i.indisunique or i.indisexclusion) and t.tenant <> all (i.indkey::int2[])) k), '[]') as keys,
       coalesce((select jsonb_agg(k order by k.table, k.name) from (
         select t.name as table, quote_ident(k.conname) as name, pg_get_constraintdef(k.oid) as constraint,
                ${columnList("k.conrelid", "k.conkey")} as columns, k.confrelid::regclass::text as target,
                ${columnList("k.confrelid", "k.confkey")} as "targetColumns",
                exists (select from pg_index i where i.indrelid = k.confrelid and i.indisunique and i.indpred is null
                           and i.indnkeyatts = cardinality(k.confkey) + 1
                           and (k.confkey || a.attnum) <@ i.indkey::int2[]) as "targetHasKey"
           from asked t join pg_constraint k on k.conrelid = t.oid and k.contype = 'f'
           join pg_attribute a on a.attrelid = k.confrelid and a.attname = $2 and not a.attisdropped
          where t.tenant <> all (k.conkey)) k), '[]') as references,
       coalesce((select jsonb_agg(e order by e.culprit, e.table) from (
         select distinct on (e.culprit, e.relation)
                t.name as table, e.culprit::regclass::text as culprit,
                case c.relkind when 'v' then 'view' when 'm' then 'materialized view' else 'foreign table' end as kind,
                c.relowner::regrole::text as owner, e.through::regclass::text as through,
                ${granteesOf("thing.relacl", "SELECT")} as grantees
           from exposed e join asked t on t.oid = e.relation join pg_class c on c.oid = e.culprit
           join pg_class thing on thing.oid = e.through
          where has_any_column_privilege(e.through, 'select') and has_schema_privilege(thing.relnamespace, 'usage')
          order by e.culprit, e.relation, e.through <> e.culprit, e.through) e), '[]') as exposures,
       array(select t.name from asked t where t.relpersistence = 'u' order by 1) as unlogged,
       coalesce((select jsonb_agg(p order by p.table, p.publication) from (
         select t.name as table, quote_ident(p.pubname) as publication, t.relnamespace::regnamespace::text as schema,
                case when p.puballtables then 'everything' when r.oid is not null then 'table' else 'schema' end as part
           from asked t cross join pg_publication p
           left join pg_publication_rel r on r.prpubid = p.oid and r.prrelid = t.oid
           left join pg_publication_namespace n on n.pnpubid = p.oid and n.pnnspid = t.relnamespace
          where t.relpersistence = 'p' and (p.puballtables or r.oid is not null or n.oid is not null)) p), '[]') as publications,
       coalesce((select jsonb_agg(s order by s.sequence) from (
         select t.name as table, s.oid::regclass::text as sequence, ${granteesOf("s.relacl", "SELECT", "UPDATE")} as grantees
           from asked t
           join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = t.oid and d.classid = 'pg_class'::regclass
                           and d.deptype in ('a', 'i')
           join pg_class s on s.oid = d.objid and s.relkind = 'S'
          where case s.relkind when 'S' then has_sequence_privilege(s.oid, 'select, update') end and not pg_has_role(s.relowner, 'usage')) s), '[]') as sequences,
       coalesce((select jsonb_agg(e order by e.table, e.column) from (
         select t.name as table, quote_ident(a.attname) as column, y.oid::regtype::text as type,
                (select string_agg(quote_literal(l.enumlabel), ', ' order by l.enumsortorder)
                   from pg_enum l where l.enumtypid = y.oid) as labels,
                substring(pg_get_expr(f.adbin, f.adrelid) from '^(''(?:[^'']|'''')*'')::') as preset
           from asked t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
           join pg_type y on y.oid = a.atttypid and y.typtype = 'e'
           left join pg_attrdef f on f.adrelid = t.oid and f.adnum = a.attnum) e), '[]') as enums,
       coalesce((select jsonb_agg(g order by g.table, g.grantee) from (
         select t.name as table, ${grantee("a.grantee")} as grantee,
                string_agg(distinct lower(a.privilege_type), ', ' order by lower(a.privilege_type)) as privileges
           from asked t, aclexplode(t.relacl) a
          where a.grantee <> t.relowner
            and (a.grantee = 0 or (pg_has_role(a.grantee, 'usage') and a.privilege_type in ('TRUNCATE', 'REFERENCES', 'TRIGGER', 'MAINTAIN')))
          group by 1, 2) g), '[]') as grants`,
    [tables, column],
  );
  return links as Links;
}

/** Those of an access list whose rights of these kinds the login has. */
function granteesOf(acl: string, ...privileges: readonly string[]): string {
  return `array(select distinct ${grantee("a.grantee")} from aclexplode(${acl}) a
                 where a.privilege_type in (${privileges.map((one) => `'${one}'`).join(", ")})
                   and case a.grantee when 0 then true else pg_has_role(a.grantee, 'usage') end order by 1)`;
}

function grantee(oid: string): string {
  return `case ${oid} when 0 then 'PUBLIC' else ${oid}::regrole::text end`;
}

function columnList(table: string, columns: string): string {
  return `(select string_agg(quote_ident(a.attname), ', ' order by part.n) from unnest(${columns}) with ordinality part(attnum, n)
             join pg_attribute a on a.attrelid = ${table} and a.attnum = part.attnum)`;
}
