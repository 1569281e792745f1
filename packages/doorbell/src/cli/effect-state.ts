// What is known of an effect, in the words in which it is shown, and what a person can do about one in doubt.
import type { JobRow } from "../store/jobs.ts";
import type { EffectState } from "../store/ledger.ts";

export type ShownEffectState = "completed" | "not done" | "IN DOUBT" | "under way";

/** Without an outcome it is under way while the attempt that began it holds its lease, and in doubt from then on. */
export function shownEffectState(effect: EffectState, job: JobRow | null): ShownEffectState {
  if (effect.outcome === "completed") return "completed";
  if (effect.outcome === "not_done") return "not done";
  if (effect.outcome === "unknown" || job === null) return "IN DOUBT";
  const leaseHeld =
    job.state === "claimed" && job.attempts === effect.attempt && (job.lease_until?.getTime() ?? 0) > Date.now();
  return leaseHeld ? "under way" : "IN DOUBT";
}

/** For a job that waits for an answer; one that runs or is queued asks by itself, by its declared policy. */
export function whatToDo(effect: EffectState, tenant: string): string {
  const command = `doorbell effects resolve ${effect.job_id} ${quoted(effect.key)} --tenant ${quoted(tenant)}`;
  return `find out whether effect ${quoted(effect.key)} happened (idempotency key ${effect.idempotency_key}), then: ${command} --happened, or --did-not-happen, with --reason WHY`;
}

/** As a shell takes it. */
function quoted(text: string): string {
  return /^[\w.:/@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
