// One round of work for hosts that start a process now and then: sweeps, claims and runs so many jobs, and returns.
import { setTimeout as sleep } from "node:timers/promises";
import { type SweepReport, sweepOnce } from "../maintenance/sweeper.ts";
import { postgresDriver } from "../queue/postgres.ts";
import { Queue } from "../queue/queue.ts";
import { type Ends, type VisitOptions, visit } from "./visit.ts";

export interface RunOnceOptions extends VisitOptions {
  /** At most so many jobs are claimed. Default 1,000. */
  readonly maxJobs?: number;
  /** It has returned after so long, or a second later. Default 50 s: a host that starts it every minute. */
  readonly deadlineMs?: number;
  /** Looks for lost doorbells and expired leases first. Default true; needless where other processes sweep. */
  readonly sweeps?: boolean;
}

export interface RunReport {
  /** Jobs that were claimed. Each has ended, or was given back uncharged. */
  readonly claimed: number;
  readonly ends: Ends;
  /** Null: it did not sweep. */
  readonly swept: SweepReport | null;
  /** Why it returned: nothing was left, it had its jobs, or its time was up. */
  readonly because: "empty" | "max_jobs" | "deadline";
  readonly tookMs: number;
}

/** A queue that is asked whether it has anything takes a moment to say so. */
const queueWaitMs = 1_000;
const lookEveryMs = 50;

/**
 * Claims from the queue, and from the line in Postgres where that is another, until nothing is left. Rejects with
 * database_unavailable or queue_unavailable; what had been claimed has ended by then, or was given back.
 */
export async function runOnce(options: RunOnceOptions): Promise<RunReport> {
  const { maxJobs = 1_000, deadlineMs = 50_000, sweeps = true, ...visitOptions } = options;
  const startedAt = performance.now();
  let swept: SweepReport | null = null;
  let because: RunReport["because"] = "deadline";
  const visited = await visit(visitOptions, deadlineMs, async (guest, { client }) => {
    const { database, queue } = client;
    const { lanes, signal } = guest;
    await client.ensureLanes(lanes);
    if (sweeps) swept = await sweepOnce(database, { signal });
    // What nobody has rung yet, or what is due by now, is still in the line.
    const line = queue.capabilities.line ? queue : new Queue(postgresDriver(database), client);
    const sources = line === queue ? [line] : [line, queue];
    while (guest.claimed < maxJobs) {
      let isEmpty = true;
      for (const source of sources) {
        const max = Math.min(await guest.freeSlots(), maxJobs - guest.claimed);
        if (max === 0) break;
        const received = await source.receive({ lanes, max, waitMs: source === line ? 0 : queueWaitMs, signal });
        if (received.doorbells.length === 0) continue;
        isEmpty = false;
        if (await guest.claim(received.doorbells)) await received.ack();
      }
      if (signal.aborted) return;
      if (isEmpty && guest.running === 0) break;
      // What still runs may enqueue.
      if (isEmpty) await sleep(lookEveryMs);
    }
    because = guest.claimed < maxJobs ? "empty" : "max_jobs";
  });
  return { ...visited, swept, because, tookMs: Math.round(performance.now() - startedAt) };
}
