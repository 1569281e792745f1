// `doorbell jobs show`: all that is known of one job: its row, its attempts, its effects, and what it waits for.
import { Command } from "commander";
import { type AttemptRow, listAttempts } from "../store/attempts.ts";
import type { JobRow } from "../store/jobs.ts";
import { type EffectState, listEffects } from "../store/ledger.ts";
import { listWorkers, type WorkerRow } from "../store/maintenance.ts";
import { jobId, jsonOption, tenantOption } from "./arguments.ts";
import { asTenant } from "./client.ts";
import { knowledgeOf, shownKnowledge, whatToDo } from "./effect-state.ts";
import { firstLine, instant, note, print, printJson, printTable } from "./output.ts";
import { requireJob } from "./select-jobs.ts";
import { shownState, withoutPayload } from "./shown-job.ts";
import { type Column, printable } from "./table.ts";

interface Shown {
  readonly job: JobRow;
  readonly attempts: readonly AttemptRow[];
  readonly effects: readonly EffectState[];
  readonly workers: readonly WorkerRow[];
}

const attemptColumns: readonly Column<AttemptRow>[] = [
  { title: "attempt", value: (one) => one.attempt },
  { title: "outcome", value: (one) => one.outcome },
  { title: "started", value: (one) => instant(one.started_at) },
  { title: "ended", value: (one) => instant(one.ended_at) },
  { title: "worker", value: (one) => one.worker },
  { title: "code", value: (one) => one.error_code },
  { title: "error", value: (one) => firstLine(one.error) },
];

const effectColumns = (job: JobRow): readonly Column<EffectState>[] => [
  { title: "effect", value: (effect) => effect.key, whole: true },
  { title: "type", value: (effect) => effect.type },
  { title: "state", value: (effect) => shownKnowledge[knowledgeOf(effect, job)], whole: true },
  { title: "begun", value: (effect) => instant(effect.begun_at) },
  { title: "by attempt", value: (effect) => effect.attempt },
  { title: "times", value: (effect) => effect.n },
  { title: "says", value: (effect) => effect.actor ?? effect.source },
  { title: "reason", value: (effect) => effect.reason },
];

export function jobShowCommand(): Command {
  return new Command("show")
    .description("one job: its row, attempts and effects")
    .argument("<job>", "its id", jobId)
    .addOption(tenantOption())
    .option("--payload", "its payload too")
    .addOption(jsonOption())
    .action(
      async (id: string, given: { readonly tenant: string; readonly payload?: boolean; readonly json?: boolean }) => {
        const { tenant, payload = false, json = false } = given;
        const shown = await asTenant(tenant, async (tx): Promise<Shown> => {
          const job = await requireJob(tx, tenant, id);
          return {
            job,
            attempts: await listAttempts(tx, tenant, id),
            effects: await listEffects(tx, tenant, id, false),
            workers: await listWorkers(tx),
          };
        });
        if (json) printJson(asJson(shown, payload));
        else printShown(shown, payload);
      },
    );
}

function asJson({ job, attempts, effects }: Shown, payload: boolean): object {
  return {
    job: payload ? job : withoutPayload(job),
    attempts,
    effects: effects.map((effect) => ({ ...effect, state: knowledgeOf(effect, job) })),
  };
}

function printShown({ job, attempts, effects, workers }: Shown, payload: boolean): void {
  for (const [name, value] of fieldsOf(job)) print(`${name.padEnd(12)}${printable(value)}`);
  if (payload) print(`${"payload".padEnd(12)}${printable(JSON.stringify(job.payload))}`);
  if (attempts.length > 0) {
    print("");
    printTable(attempts, attemptColumns);
  }
  if (effects.length > 0) {
    print("");
    printTable(effects, effectColumns(job));
  }
  for (const effect of effects) {
    if (knowledgeOf(effect, job) === "in_doubt") print(printable(`\nIN DOUBT: ${whatToDo(effect, job.tenant_id)}`));
    if (effect.conflict)
      note(`effect ${effect.key} is on record both as completed and as not done: look at what happened`);
  }
  if (job.state === "queued" && !workers.some((worker) => worker.kinds.includes(job.kind))) {
    note(`no live worker knows kind ${job.kind}: the job waits for one, and loses no attempt`);
  }
}

/** What has a value; the rest would only be in the way. */
function fieldsOf(job: JobRow): readonly (readonly [string, string])[] {
  const fields: readonly (readonly [string, string | null])[] = [
    ["job", job.id],
    ["kind", job.kind],
    ["state", shownState(job)],
    ["attempts", `${job.attempts} of ${job.max_attempts}`],
    ["lane", job.lane],
    ["priority", job.priority === 0 ? null : String(job.priority)],
    ["created", instant(job.created_at)],
    ["run after", job.state === "queued" ? instant(job.run_after) : null],
    ["claimed by", job.state === "claimed" ? job.claimed_by : null],
    ["lease until", job.state === "claimed" ? instant(job.lease_until) : null],
    ["finished", job.finished_at === null ? null : instant(job.finished_at)],
    ["key", job.idempotency_key],
    ["object", job.object_key],
    ["sha256", job.object_sha256],
    ["size", job.object_size === null ? null : `${job.object_size} bytes`],
    ["error code", job.error_code],
    ["error", job.last_error === null ? null : firstLine(job.last_error)],
    ["result", job.result === null ? null : JSON.stringify(job.result)],
  ];
  return fields.filter((field): field is readonly [string, string] => field[1] !== null);
}
