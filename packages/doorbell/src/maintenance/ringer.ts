// The ringer: hands doorbells from the line to a queue of another kind, in the fair order, after their commit. What it
// takes and cannot hand over is lost for the moment, and the sweeper rings again: the job is the record.
import type { Queue } from "../queue/queue.ts";
import type { Tx } from "../store/database.ts";
import { takeDoorbells } from "../store/maintenance.ts";
import type { Log } from "../telemetry/log.ts";
import { type Repeated, repeated } from "./service.ts";

const batchMax = 100;
const pollMs = 100;

export function ringer(tx: Tx, queue: Queue, lanes: readonly string[], log: Log): Repeated {
  return repeated({
    name: "ringer",
    everyMs: pollMs,
    log,
    run: async (signal) => {
      for (const lane of lanes) {
        for (let more = true; more && !signal.aborted; ) {
          const doorbells = await takeDoorbells(tx, lane, batchMax);
          await queue.send(lane, doorbells);
          more = doorbells.length === batchMax;
        }
      }
    },
  });
}
