// What is known of an effect, how that is shown, and what a person can do about one in doubt.
import type { JobRow } from "../store/jobs.ts";
import type { EffectState } from "../store/ledger.ts";

export type EffectKnowledge = "completed" | "not_done" | "in_doubt" | "under_way";

/** For tables: what needs a person is not to be overlooked. */
export const shownKnowledge: Readonly<Record<EffectKnowledge, string>> = {
  completed: "completed",
  not_done: "not done",
  in_doubt: "IN DOUBT",
  under_way: "under way",
};

/** Without an outcome it is under way while the attempt that began it holds its lease, and in doubt from then on. */
export function knowledgeOf(effect: EffectState, job: JobRow | null): EffectKnowledge {
  if (effect.outcome === "completed" || effect.outcome === "not_done") return effect.outcome;
  if (effect.outcome === "unknown" || job === null) return "in_doubt";
  const leaseUntilMs = job.lease_until?.getTime() ?? 0;
  const leaseHeld = job.state === "claimed" && job.attempts === effect.attempt && leaseUntilMs > Date.now();
  return leaseHeld ? "under_way" : "in_doubt";
}

export function whatToDo(effect: EffectState, tenant: string): string {
  const command = `doorbell effects resolve ${effect.job_id} ${quoted(effect.key)} --tenant ${quoted(tenant)}`;
  return `find out whether effect ${quoted(effect.key)} happened (idempotency key ${effect.idempotency_key}), then: ${command} --happened, or --did-not-happen, with --reason WHY`;
}

/** As a shell takes it. */
function quoted(text: string): string {
  return /^[\w.:/@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
