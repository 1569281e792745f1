// How an attempt's end is told: counted, and logged. Success is told after it is on record, and by nobody whose lease has
// passed on, so that a log never claims what the table denies.
import type { OpenedBreaker, Settlement, SettleOutcome } from "../store/ticks.ts";
import type { Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { Attempt } from "./attempt.ts";
import type { Settled } from "./ticker.ts";

/** What an attempt came to. Lost: the lease had passed on, and what it came to is of no account. */
export type AttemptEnd = SettleOutcome | "lost";

/**
 * `settlement` null: there was nothing to write, because the lease was lost, or the handler had settled the job itself or
 * let it wait.
 */
export function tellEnd(
  telemetry: { readonly log: Log; readonly metrics: Metrics },
  attempt: Attempt,
  settlement: Settlement | null,
  settled: Settled,
): AttemptEnd {
  const { log, metrics } = telemetry;
  const { kind } = attempt.claimed;
  const outcome = settled === "lost" ? "lost" : (settlement?.outcome ?? attempt.waits?.outcome ?? "done");
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
      if (settlement === null) return tellWait(log, attempt, outcome);
      const why = { code: settlement.code, error: settlement.error, delay_ms: settlement.delayMs };
      log[outcome === "failed" ? "error" : "warn"](`attempt ended: ${outcome}`, { ...fieldsOf(attempt), ...why });
    }
  }
  return outcome;
}

/** A job that waits for an event or for children is as it should be. */
function tellWait(log: Log, attempt: Attempt, outcome: AttemptEnd): AttemptEnd {
  log.debug(`attempt ended: ${outcome}`, fieldsOf(attempt));
  return outcome;
}

/** What is paused, why, until when, and how a person ends it. */
export function tellOpened(telemetry: { readonly log: Log; readonly metrics: Metrics }, breaker: OpenedBreaker): void {
  const { tenant, kind, times, fingerprint, error, until } = breaker;
  telemetry.metrics.breakerOpened(kind);
  telemetry.log.error("a kind is paused for a tenant: its jobs fail alike, stay queued and lose no attempt meanwhile", {
    tenant_id: tenant,
    kind,
    fingerprint,
    error,
    until: until.toISOString(),
    pauses: times,
    to_close: `doorbell breakers close ${kind} --tenant ${JSON.stringify(tenant)}`,
  });
}

function fieldsOf({ claimed }: Attempt): object {
  const { tenant, id, kind, attempt, objectKey } = claimed;
  return { tenant_id: tenant, job_id: id, kind, attempt, stage: null, object_key: objectKey };
}
