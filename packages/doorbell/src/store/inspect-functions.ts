// Functions beside ours that the login may call and that row-level security does not stop, and where its names are looked
// up. They read the catalogs only; nothing here judges. Names are as they are written in SQL.
import type { Tx } from "./database.ts";

export interface CallableFunction {
  readonly signature: string;
  readonly schema: string;
  /** SECURITY DEFINER: it acts as its owner. */
  readonly definer: boolean;
  readonly owner: string;
  /** Row-level security does not bind the owner. */
  readonly ownerUnbound: boolean;
  /** Of tables that were asked about. */
  readonly ownsTables: boolean;
  /** Its search_path is set. */
  readonly pinned: boolean;
  /** Postgres may call it before a policy has let the row pass. */
  readonly leakproof: boolean;
  /** Who is granted it, and has handed it on to the login. */
  readonly grantees: readonly string[];
}

/** SECURITY DEFINER and LEAKPROOF functions, without those of Postgres and of ours. `tables`: whose owners matter. */
export function inspectCallable(tx: Tx, tables: readonly number[]): Promise<readonly CallableFunction[]> {
  return tx.query<CallableFunction>(
    `select p.oid::regprocedure::text as signature, p.pronamespace::regnamespace::text as schema, p.prosecdef as definer,
            p.proowner::regrole::text as owner, o.rolsuper or o.rolbypassrls as "ownerUnbound",
            p.proowner in (select relowner from pg_class where oid = any ($1::oid[])) as "ownsTables",
            exists (select from unnest(p.proconfig) c where c like 'search_path=%') as pinned,
            p.proleakproof and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass
                                              and d.objid = p.oid and d.deptype = 'e') as leakproof,
            array(select distinct case a.grantee when 0 then 'PUBLIC' else a.grantee::regrole::text end
                    from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
                   where case a.grantee when 0 then true else pg_has_role(a.grantee, 'usage') end order by 1) as grantees
       from pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_roles o on o.oid = p.proowner
      where (p.prosecdef or p.proleakproof) and n.nspname not in ('pg_catalog', 'information_schema', 'doorbell')
        and has_schema_privilege(n.oid, 'usage') and has_function_privilege(p.oid, 'execute')
      order by 1`,
    [tables],
  );
}

export interface WritableSchema {
  readonly schema: string;
  /** Others than its owner who may make things in it, and have handed that on to the login. */
  readonly grantees: readonly string[];
}

/** Schemas of the login's search_path in which more than their owners may make functions and tables. */
export function inspectSearchPath(tx: Tx): Promise<readonly WritableSchema[]> {
  return tx.query<WritableSchema>(`
    select quote_ident(n.nspname) as schema, array_agg(distinct case a.grantee when 0 then 'PUBLIC' else a.grantee::regrole::text end) as grantees
      from pg_namespace n, aclexplode(n.nspacl) a
     where n.nspname = any (current_schemas(false)) and a.privilege_type = 'CREATE' and a.grantee <> n.nspowner
       and case a.grantee when 0 then true else pg_has_role(a.grantee, 'usage') end
     group by n.nspname order by 1`);
}

export interface TemporaryTables {
  readonly database: string;
  /** Who may make temporary tables, and has handed that on to the login. Empty: nobody. */
  readonly grantees: readonly string[];
}

export async function inspectTemporary(tx: Tx): Promise<TemporaryTables> {
  const [row] = await tx.query<TemporaryTables>(`
    select quote_ident(d.datname) as database,
           array(select distinct case a.grantee when 0 then 'PUBLIC' else a.grantee::regrole::text end
                   from aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
                  where a.privilege_type = 'TEMPORARY' and a.grantee <> d.datdba
                    and case a.grantee when 0 then true else pg_has_role(a.grantee, 'usage') end order by 1) as grantees
      from pg_database d where d.datname = current_database()`);
  return row as TemporaryTables;
}
