// The sweeper: the net under lost doorbells and expired leases. It rings and returns, and executes nothing; sql/ says what
// is lost and how that is known. In a run without faults it rescues nothing, and the metrics say so.
import type { Tx } from "../store/database.ts";
import { sweepChunk } from "../store/maintenance.ts";
import type { Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { type Repeated, repeated } from "./service.ts";

export interface SweepReport {
  /** Leases that had expired: queued again, or dead letters when it was the last attempt. */
  readonly expired: number;
  readonly dead: number;
  /** Jobs that were due and whose doorbell was nowhere. */
  readonly rung: number;
}

const tenantsPerChunk = 1_000;
/** A job is due for so long before anybody asks where its doorbell is: those of a moment ago are on their way. */
const graceMs = 2_000;
/** Of the time: a backlog that makes sweeping slow makes it rarer, not heavy. */
const shareMax = 0.05;

/** One pass over all tenants, chunk by chunk: a chunk that fails does not keep the later ones from their turn next time. */
export async function sweepOnce(
  tx: Tx,
  { idleLanes = [], signal }: { readonly idleLanes?: readonly string[]; readonly signal?: AbortSignal } = {},
): Promise<SweepReport> {
  let expired = 0;
  let dead = 0;
  let rung = 0;
  for (let after: string | null = ""; after !== null && !signal?.aborted; ) {
    const chunk = await sweepChunk(tx, after, { tenants: tenantsPerChunk, graceMs, idleLanes });
    expired += chunk.expired;
    dead += chunk.dead;
    rung += chunk.rung;
    after = chunk.last;
  }
  return { expired, dead, rung };
}

export interface SweeperOptions {
  readonly tx: Tx;
  readonly everyMs: number;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Lanes where a worker of this process has free slots, and finds the queue empty. */
  readonly idleLanes: () => readonly string[];
  /** Something was rung: workers may look at once. */
  readonly onRung: () => void;
}

export function sweeper({ tx, everyMs, log, metrics, idleLanes, onRung }: SweeperOptions): Repeated {
  return repeated({
    name: "sweeper",
    everyMs,
    shareMax,
    log,
    run: async (signal) => {
      const startedAtMs = performance.now();
      const { expired, dead, rung } = await sweepOnce(tx, { idleLanes: idleLanes(), signal });
      metrics.sweeperTook((performance.now() - startedAtMs) / 1_000);
      if (expired + dead + rung === 0) return;
      metrics.sweeperExpired(expired);
      metrics.sweeperDead(dead);
      metrics.sweeperRung(rung);
      log.warn("the sweeper had to help", { leases_expired: expired, dead_letters: dead, doorbells_rung: rung });
      onRung();
    },
  });
}
