// For a process whose login may not sweep: says when nobody does. It stays ready all the same, since jobs are taken in and
// nothing is lost; taking the web tier out of service because workers are away would make an outage of a delay.
import type { Tx } from "../store/database.ts";
import { inspectSweepers } from "../store/inspect-server.ts";
import type { Log } from "../telemetry/log.ts";
import { type Repeated, repeated } from "./service.ts";

export interface SweeperWatchOptions {
  readonly tx: Tx;
  readonly log: Log;
  readonly everyMs?: number;
  /** After the start: workers may be started after the web tier. */
  readonly patienceMs?: number;
}

export function sweeperWatch({ tx, log, everyMs = 10_000, patienceMs = 30_000 }: SweeperWatchOptions): Repeated {
  const startedAtMs = performance.now();
  let missing = false;
  return repeated({
    name: "the look for workers",
    everyMs,
    log,
    run: async () => {
      const facts = await inspectSweepers(tx);
      if (facts === null) return;
      if (facts.alive && missing) log.info("a worker sweeps again");
      const noticed = !facts.alive && (missing || performance.now() - startedAtMs >= patienceMs);
      if (noticed && !missing)
        log.warn("nobody sweeps: no worker has been seen for 30 s; jobs are taken in, and wait", {
          last_seen_at: facts.lastSeenAt?.toISOString() ?? null,
        });
      missing = noticed;
    },
  });
}
