// Who may do what in schema doorbell beside what the migration grants: functions, tables, roles, and what will be made
// later. They read the catalogs only; nothing here judges. Names are as they are written in SQL.
import type { Tx } from "./database.ts";

export interface FunctionFacts {
  readonly signature: string;
  /** SECURITY DEFINER: it acts as its owner. */
  readonly definer: boolean;
  readonly owner: string;
  /** The owner of the tables. */
  readonly tableOwner: string;
  /** Its search_path is set, and names nothing but pg_catalog and pg_temp. */
  readonly pinned: boolean;
  /** Everybody may call it, and it is not the one that policies call as whoever asks. */
  readonly public: boolean;
}

export function inspectFunctions(tx: Tx): Promise<readonly FunctionFacts[]> {
  return tx.query<FunctionFacts>(`
    select p.oid::regprocedure::text as signature, p.prosecdef as definer, p.proowner::regrole::text as owner,
           jobs.relowner::regrole::text as "tableOwner",
           exists (select from unnest(p.proconfig) c where c ~ '^search_path=pg_catalog(, *pg_temp)?$') as pinned,
           p.proname <> 'tenant'
             and exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee = 0) as public
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      join pg_class jobs on jobs.relnamespace = n.oid and jobs.relname = 'jobs'
     where n.nspname = 'doorbell' and p.prokind = 'f'
     order by 1`);
}

export interface TableGrant {
  /** A sequence has the word before its name, as `revoke` wants it. */
  readonly table: string;
  /** A role, or PUBLIC. */
  readonly grantee: string;
  /** In lower case, with commas. */
  readonly privileges: string;
}

/**
 * Everything but SELECT that somebody other than its owner has on a table or view of ours, everything that PUBLIC has, and
 * everything that anybody has on a sequence: the clocks of the line are in them.
 */
export function inspectTableGrants(tx: Tx): Promise<readonly TableGrant[]> {
  return tx.query<TableGrant>(`
    with granted as (
      select c.oid, c.relkind, c.relowner, a.grantee, a.privilege_type
        from pg_class c, aclexplode(c.relacl) a
       where c.relnamespace = (select oid from pg_namespace where nspname = 'doorbell') and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
      union
      select c.oid, c.relkind, c.relowner, a.grantee, a.privilege_type
        from pg_class c join pg_attribute t on t.attrelid = c.oid, aclexplode(t.attacl) a
       where c.relnamespace = (select oid from pg_namespace where nspname = 'doorbell'))
    select case relkind when 'S' then 'sequence ' else '' end || oid::regclass::text as table, ${granteeName} as grantee,
           string_agg(lower(privilege_type), ', ' order by privilege_type) as privileges
      from granted
     where grantee <> relowner and (grantee = 0 or privilege_type <> 'SELECT' or relkind = 'S')
     group by oid, relkind, grantee order by 1, 2`);
}

export interface Membership {
  readonly role: string;
  readonly member: string;
}

/** Where one of our five roles is made a member of another, or of a role that row-level security does not bind. */
export function inspectMemberships(tx: Tx): Promise<readonly Membership[]> {
  return tx.query<Membership>(`
    with ours as (
      select oid from pg_roles
       where rolname in ('doorbell_owner', 'doorbell_worker', 'doorbell_web', 'doorbell_producer', 'doorbell_reader'))
    select distinct m.roleid::regrole::text as role, m.member::regrole::text as member
      from pg_auth_members m join pg_roles r on r.oid = m.roleid
     where m.member in (select oid from ours)
       and (m.roleid in (select oid from ours) or r.rolsuper or r.rolbypassrls)
     order by 1, 2`);
}

export interface DefaultGrant {
  /** Whose future objects. */
  readonly owner: string;
  /** In which schema only. Null: in all. */
  readonly schema: string | null;
  readonly kind: "tables" | "functions" | "sequences";
  readonly grantee: string;
}

/** What others than the owner will be granted on tables, functions and sequences that are made in schema doorbell. */
export function inspectDefaultGrants(tx: Tx): Promise<readonly DefaultGrant[]> {
  return tx.query<DefaultGrant>(`
    select distinct d.defaclrole::regrole::text as owner, s.nspname::text as schema,
           case d.defaclobjtype when 'r' then 'tables' when 'f' then 'functions' else 'sequences' end as kind,
           ${granteeName} as grantee
      from pg_default_acl d left join pg_namespace s on s.oid = d.defaclnamespace, aclexplode(d.defaclacl) a
     where d.defaclobjtype in ('r', 'f', 'S') and a.grantee <> d.defaclrole
       and (s.nspname = 'doorbell'
            or s.oid is null and d.defaclrole in (select c.relowner from pg_class c
                                                   join pg_namespace n on n.oid = c.relnamespace
                                                  where n.nspname = 'doorbell' and c.relkind in ('r', 'p')))
     order by 1, 2, 3, 4`);
}

const granteeName = "case grantee when 0 then 'PUBLIC' else grantee::regrole::text end";
