// Dead letters in groups: five hundred jobs that failed of one cause are one thing to look at.
import type { Tx } from "./database.ts";

/** Dead letters of one kind whose failures differ only in ids and numbers. */
export interface DeadLetterGroup {
  readonly fingerprint: string | null;
  readonly kind: string;
  readonly jobs: number;
  readonly first_failed_at: Date;
  readonly last_failed_at: Date;
  /** Of the latest. */
  readonly error_code: string | null;
  readonly error: string | null;
}

/** The largest first. Under the tenant's clamp. */
export function listDeadLetterGroups(tx: Tx, tenant: string, max: number): Promise<readonly DeadLetterGroup[]> {
  return tx.query<DeadLetterGroup>(
    `select fingerprint, kind, count(*) as jobs, min(failed_at) as first_failed_at, max(failed_at) as last_failed_at,
            (array_agg(error_code order by failed_at desc))[1] as error_code,
            (array_agg(left(last_error, 1000) order by failed_at desc))[1] as error
       from doorbell.dead_letters where tenant_id = $1
      group by fingerprint, kind order by jobs desc, last_failed_at desc, kind, fingerprint limit ($2::text)::int`,
    [tenant, String(max)],
  );
}
