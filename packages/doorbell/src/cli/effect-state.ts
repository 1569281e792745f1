// What is known of an effect, how that is shown, and what follows while it is in doubt.
import type { JobRow } from "../store/jobs.ts";
import type { EffectState } from "../store/ledger.ts";
import { note } from "./output.ts";

export type EffectKnowledge = "completed" | "not_done" | "in_doubt" | "under_way";

/** For tables: what needs a person is not to be overlooked. */
export const shownKnowledge: Readonly<Record<EffectKnowledge, string>> = {
  completed: "completed",
  not_done: "not done",
  in_doubt: "IN DOUBT",
  under_way: "under way",
};

type HeldJob = Pick<JobRow, "state" | "attempts" | "lease_until">;

/** Without an outcome it is under way while the attempt that began it holds its lease, and in doubt from then on. */
export function knowledgeOf(effect: EffectState, job: HeldJob | null): EffectKnowledge {
  if (effect.outcome === "completed" || effect.outcome === "not_done") return effect.outcome;
  if (effect.outcome === "unknown" || job === null) return "in_doubt";
  const leaseUntilMs = job.lease_until?.getTime() ?? 0;
  const leaseHeld = job.state === "claimed" && job.attempts === effect.attempt && leaseUntilMs > Date.now();
  return leaseHeld ? "under_way" : "in_doubt";
}

/** What an attempt does about an effect of this type that it finds in doubt: docs/effects.md says why. */
const declaredPolicy: Readonly<Record<EffectState["type"], string>> = {
  webhook: "sends it again with the same id, by which the receiver can tell a repeat",
  email: "sends it again with the same Message-ID, by which a repeat can be told",
  effect: "asks the effect's probe if it has one; else it does it again if its onDoubt is retry, or lets the job wait",
  usage: "counts it, once",
};

/** What follows for an effect in doubt, by itself and by a person. */
export function whatFollows(effect: EffectState, job: Pick<JobRow, "state" | "tenant_id">): string {
  const { key, type, job_id, idempotency_key } = effect;
  const command = `doorbell effects resolve ${job_id} ${quoted(key)} --tenant ${quoted(job.tenant_id)}`;
  const answer = `find out whether it happened (idempotency key ${idempotency_key}), then: ${command} --happened, or --did-not-happen, with --reason WHY`;
  switch (job.state) {
    case "waiting":
      return `the job waits for a person: ${answer}`;
    case "queued":
    case "claimed":
      return `the next attempt that comes to it ${declaredPolicy[type]}. To answer before: ${answer}`;
    default:
      return `the job has settled; a replay ${declaredPolicy[type]}. To answer before: ${answer}`;
  }
}

/** A late outcome may contradict a person's answer: that is for people to look at. */
export function noteConflicts(effects: readonly EffectState[]): void {
  for (const { key, job_id, conflict } of effects) {
    if (conflict) note(`effect ${key} of job ${job_id} is on record both as completed and as not done`);
  }
}

/** As a shell takes it. */
function quoted(text: string): string {
  return /^[\w.:/@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
