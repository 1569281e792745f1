// How an attempt's end is told: counted, and logged. Success is told after it is on record, and by nobody whose lease has
// passed on, so that a log never claims what the table denies.
import type { Settlement, SettleOutcome } from "../store/ticks.ts";
import type { Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { Attempt } from "./attempt.ts";
import type { Settled } from "./ticker.ts";

/** What an attempt came to. Lost: the lease had passed on, and what it came to is of no account. */
export type AttemptEnd = SettleOutcome | "lost";

/** `settlement` null: there was nothing to write, because the lease was lost or the handler had settled the job itself. */
export function tellEnd(
  telemetry: { readonly log: Log; readonly metrics: Metrics },
  attempt: Attempt,
  settlement: Settlement | null,
  settled: Settled,
): AttemptEnd {
  const { log, metrics } = telemetry;
  const { kind } = attempt.claimed;
  const outcome = settled === "lost" ? "lost" : (settlement?.outcome ?? "done");
  metrics.jobSettled(kind, outcome);
  switch (outcome) {
    case "done":
    case "snooze":
    case "cancelled":
      log.debug(`attempt ended: ${outcome}`, fieldsOf(attempt));
      break;
    case "lost":
      metrics.leaseLost();
      log.warn("the lease was lost; nothing of this attempt's end was written", fieldsOf(attempt));
      break;
    default: {
      const why = { code: settlement?.code, error: settlement?.error, delay_ms: settlement?.delayMs };
      log[outcome === "failed" ? "error" : "warn"](`attempt ended: ${outcome}`, { ...fieldsOf(attempt), ...why });
    }
  }
  return outcome;
}

function fieldsOf({ claimed }: Attempt): object {
  const { tenant, id, kind, attempt, objectKey } = claimed;
  return { tenant_id: tenant, job_id: id, kind, attempt, stage: null, object_key: objectKey };
}
