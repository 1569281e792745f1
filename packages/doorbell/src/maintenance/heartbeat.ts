// Says that this process lives, what it handles and how it does, in the table where operators look.
import type { Tx } from "../store/database.ts";
import { beat, type ProcessState, signOff } from "../store/maintenance.ts";
import type { Log } from "../telemetry/log.ts";
import type { Service } from "../worker/worker.ts";
import { repeated } from "./service.ts";

/** A process counts as dead after 30 s without a beat (functions/13_operate.sql). */
const everyMs = 2_000;

export function heartbeat(tx: Tx, state: () => ProcessState, log: Log): Service {
  const beats = repeated({ name: "heartbeat", everyMs, log, run: () => beat(tx, state()) });
  return {
    name: beats.name,
    start: () => beats.start(),
    stop: async () => {
      await beats.stop();
      await signOff(tx, state().id).catch(() => {});
    },
  };
}
