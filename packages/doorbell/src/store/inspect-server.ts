// What the server and the session say of themselves: version, durability, encryption, clock, and who keeps the jobs swept.
// One round trip. Nothing here judges.
import type { Tx } from "./database.ts";

export interface SessionSetting {
  readonly name: string;
  readonly value: string;
}

export interface ServerFacts {
  /** As in server_version_num: 150018 is 15.18. */
  readonly version: number;
  /** Of the session: row_security, session_replication_role, role, fsync, full_page_writes, synchronous_commit. */
  readonly settings: readonly SessionSetting[];
  /** Milliseconds since 1970, by the server's clock. */
  readonly nowMs: number;
  /** Between Postgres and whoever it talks to, which may be a pooler. */
  readonly encrypted: boolean;
  /** That one is on the server's own machine. */
  readonly local: boolean;
  /** As they are written in SQL. */
  readonly database: string;
  readonly login: string;
}

export async function inspectServer(tx: Tx): Promise<ServerFacts> {
  const [facts] = await tx.query<ServerFacts>(`
    select current_setting('server_version_num')::int as version,
           (select jsonb_agg(jsonb_build_object('name', name, 'value', coalesce(current_setting(name, true), '')) order by n)
              from unnest(array['row_security', 'session_replication_role', 'role',
                                'fsync', 'full_page_writes', 'synchronous_commit']) with ordinality s(name, n)) as settings,
           (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs",
           coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false) as encrypted,
           coalesce(inet_client_addr() = inet_server_addr() or inet_client_addr() <<= '127.0.0.0/8' or host(inet_client_addr()) = '::1',
                    true) as local,
           quote_ident(current_database()) as database, quote_ident(session_user) as login`);
  return facts as ServerFacts;
}

export interface SweeperFacts {
  /** The login may sweep. */
  readonly mayItself: boolean;
  /** A process that sweeps has been seen within half a minute. */
  readonly alive: boolean;
  /** When one was seen that did not sign off. Null: there is none. */
  readonly lastSeenAt: Date | null;
}

/** For whoever may read doorbell.workers. Processes of the roles worker and all sweep. */
export async function inspectSweepers(tx: Tx): Promise<SweeperFacts | null> {
  const [allowed] = await tx.query<{ readable: boolean; mayItself: boolean }>(`
    select coalesce(has_schema_privilege('doorbell', 'usage') and has_table_privilege('doorbell.workers', 'select'), false) as readable,
           exists (select from pg_proc p where p.pronamespace = 'doorbell'::regnamespace and p.proname = 'sweep'
                      and has_function_privilege(p.oid, 'execute')) as "mayItself"`);
  if (!allowed?.readable) return null;
  const [seen] = await tx.query<{ alive: boolean; lastSeenAt: Date | null }>(`
    select coalesce(max(seen_at) > now() - interval '30 s', false) as alive, max(seen_at) as "lastSeenAt"
      from doorbell.workers where role in ('worker', 'all')`);
  return { mayItself: allowed.mayItself, alive: seen?.alive ?? false, lastSeenAt: seen?.lastSeenAt ?? null };
}
