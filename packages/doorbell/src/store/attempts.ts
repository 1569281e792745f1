// Attempts as they are on record: those that did not simply succeed, and those that did once a replay has followed them.
import type { Tx } from "./database.ts";

export interface AttemptRow {
  readonly attempt: number;
  readonly outcome: "done" | "failed" | "retry" | "snooze" | "release" | "wait" | "lost" | "cancelled";
  readonly worker: string | null;
  readonly started_at: Date | null;
  readonly ended_at: Date;
  readonly error_code: string | null;
  readonly error: string | null;
}

/** In their order. Under the tenant's clamp. */
export function listAttempts(tx: Tx, tenant: string, job: string): Promise<readonly AttemptRow[]> {
  return tx.query<AttemptRow>(
    `select attempt, outcome, worker, started_at, ended_at, error_code, error from doorbell.attempts
      where tenant_id = $1 and job_id = ($2::text)::uuid order by attempt`,
    [tenant, job],
  );
}
