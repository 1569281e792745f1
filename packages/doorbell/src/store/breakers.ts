// Breakers: kinds that are paused for a tenant, because their jobs fail alike (functions/16_poison.sql).
import type { Tx } from "./database.ts";

export interface Breaker {
  readonly tenant_id: string;
  readonly kind: string;
  readonly fingerprint: string;
  readonly error: string | null;
  readonly opened_at: Date;
  /** Then one job is let through. */
  readonly held_until: Date;
  /** The how-manieth pause it is. */
  readonly times: number;
  /** The job that was let through last. */
  readonly probe: string | null;
}

/** The oldest first; of all tenants or, under a clamp, of that one. */
export function listBreakers(tx: Tx): Promise<readonly Breaker[]> {
  return tx.query<Breaker>(
    "select tenant_id, kind, fingerprint, error, opened_at, held_until, times, probe from doorbell.list_breakers()",
  );
}

/** False: there is none, or it is just being changed. */
export async function closeBreaker(tx: Tx, tenant: string, kind: string): Promise<boolean> {
  const [row] = await tx.query<{ closed: boolean }>("select doorbell.close_breaker($1, $2) as closed", [tenant, kind]);
  return row?.closed ?? false;
}
