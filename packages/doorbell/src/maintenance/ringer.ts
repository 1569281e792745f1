// The ringer: hands doorbells from the line to a queue of another kind, in the fair order, after their commit. It runs in
// every process that may, and rings at once for what that process enqueues. The database says how many there is room for
// (sql/functions/03_line.sql): brokers stay short, and the order is made in one place.
//
// What the queue does not take goes back into the line. If that fails too, the sweeper finds it: the job is the record.
import type { Queue } from "../queue/queue.ts";
import type { Tx } from "../store/database.ts";
import { putBack, takeDoorbells } from "../store/maintenance.ts";
import type { Log } from "../telemetry/log.ts";
import { type Repeated, repeated } from "./service.ts";

const batchMax = 500;

export interface RingerOptions {
  readonly tx: Tx;
  readonly queue: Queue;
  readonly lanes: readonly string[];
  /** From one look at the line to the next, where nobody wakes it: alarms that come due, wake-ups that were lost. */
  readonly everyMs: () => number;
  readonly log: Log;
}

export function ringer({ tx, queue, lanes, everyMs, log }: RingerOptions): Repeated {
  /** How many. */
  const ring = async (lane: string, signal: AbortSignal): Promise<number> => {
    let count = 0;
    for (let more = true; more && !signal.aborted; ) {
      const doorbells = await takeDoorbells(tx, lane, batchMax);
      try {
        await queue.send(lane, doorbells);
      } catch (error) {
        await putBack(tx, doorbells);
        throw error;
      }
      count += doorbells.length;
      more = doorbells.length === batchMax;
    }
    return count;
  };
  return repeated({
    name: "ringer",
    everyMs,
    log,
    run: async (signal) => {
      // A lane whose queue is in trouble does not keep the others waiting.
      const rung = await Promise.allSettled(lanes.map((lane) => ring(lane, signal)));
      const failed = rung.find((result) => result.status === "rejected");
      if (failed !== undefined) throw failed.reason;
      // While another process holds what is due, nothing here shows that the queue is back.
      return rung.every((result) => result.status === "fulfilled" && result.value === 0) ? "idle" : undefined;
    },
  });
}
