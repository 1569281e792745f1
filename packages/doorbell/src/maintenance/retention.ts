// Retention: makes the history's next partitions, and lets settled jobs go with all that belongs to them when their time
// is over (settings.retention_days). Never touches unfinished jobs and dead letters.
import type { Tx } from "../store/database.ts";
import { addPartitions, retireChunk } from "../store/maintenance.ts";
import type { Log } from "../telemetry/log.ts";
import { type Repeated, repeated } from "./service.ts";

const everyMs = 3_600_000;
const tenantsPerChunk = 100;

export interface RetentionReport {
  /** Settled jobs whose attempts, logs, effects and keys were removed. */
  readonly jobs: number;
  /** Partitions of the history that were dropped. */
  readonly dropped: number;
}

export async function retireOnce(tx: Tx, signal?: AbortSignal): Promise<RetentionReport> {
  let jobs = 0;
  let dropped = 0;
  for (let after: string | null = ""; after !== null && !signal?.aborted; ) {
    const chunk = await retireChunk(tx, after, tenantsPerChunk);
    jobs += chunk.jobs;
    dropped += chunk.dropped;
    after = chunk.last;
  }
  return { jobs, dropped };
}

export function retention(tx: Tx, log: Log): Repeated {
  return repeated({
    name: "retention",
    everyMs,
    log,
    run: async (signal) => {
      await addPartitions(tx);
      const report = await retireOnce(tx, signal);
      if (report.jobs + report.dropped > 0)
        log.info("settled jobs were let go", { jobs: report.jobs, partitions: report.dropped });
    },
  });
}
