// `doorbell jobs show`: all that is known of one job: its row, its attempts, its effects, and what becomes of it next.
import { Command } from "commander";
import { type AttemptRow, listAttempts } from "../store/attempts.ts";
import { listBreakers } from "../store/breakers.ts";
import { type EffectState, listEffects } from "../store/ledger.ts";
import { listWorkers } from "../store/maintenance.ts";
import { waitOf } from "../store/steps.ts";
import { jobArgument, jsonOption, tenantOption } from "./arguments.ts";
import { asTenant } from "./client.ts";
import { type EffectKnowledge, knowledgeOf, noteConflicts, shownKnowledge, whatFollows } from "./effect-state.ts";
import { nextStep } from "./next-step.ts";
import { firstLine, instant, print, printJson, printTable } from "./output.ts";
import { requireJob } from "./select-jobs.ts";
import { type ShownJob, shownJob, shownState } from "./shown-job.ts";
import { type Column, printable } from "./table.ts";

type ShownEffect = EffectState & {
  readonly state: EffectKnowledge;
  /** Where it is in doubt. */
  readonly next: string | null;
};

interface Shown {
  /** With its payload if that was asked for. */
  readonly job: ShownJob & { readonly next: string | null; readonly payload?: unknown };
  readonly attempts: readonly AttemptRow[];
  readonly effects: readonly ShownEffect[];
}

interface Given {
  readonly tenant: string;
  readonly payload?: boolean;
  readonly json?: boolean;
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

const effectColumns: readonly Column<ShownEffect>[] = [
  { title: "effect", value: (effect) => effect.key, whole: true },
  { title: "type", value: (effect) => effect.type },
  { title: "state", value: (effect) => shownKnowledge[effect.state], whole: true },
  { title: "begun", value: (effect) => instant(effect.begun_at) },
  { title: "by attempt", value: (effect) => effect.attempt },
  { title: "times", value: (effect) => effect.n },
  { title: "says", value: (effect) => effect.actor ?? effect.source },
  { title: "reason", value: (effect) => firstLine(effect.reason) },
];

export function jobShowCommand(): Command {
  return new Command("show")
    .description("one job: its row, attempts and effects, and what becomes of it next")
    .addArgument(jobArgument())
    .addOption(tenantOption())
    .option("--payload", "its payload too")
    .addOption(jsonOption())
    .action(async (id: string, { tenant, payload = false, json = false }: Given) => {
      const shown = await look(tenant, id, payload);
      if (json) printJson(shown);
      else printShown(shown);
    });
}

function look(tenant: string, id: string, withPayload: boolean): Promise<Shown> {
  return asTenant(tenant, async (tx) => {
    const row = await requireJob(tx, tenant, id);
    const job = shownJob(row, await listWorkers(tx));
    const effects = await listEffects(tx, tenant, id, false);
    const breaker = (await listBreakers(tx)).find(({ kind }) => kind === job.kind) ?? null;
    return {
      job: {
        ...job,
        next: nextStep(job, await waitOf(tx, tenant, id), breaker),
        ...(withPayload && { payload: row.payload }),
      },
      attempts: await listAttempts(tx, tenant, id),
      effects: effects.map((effect): ShownEffect => {
        const state = knowledgeOf(effect, job);
        return { ...effect, state, next: state === "in_doubt" ? whatFollows(effect, job) : null };
      }),
    };
  });
}

function printShown({ job, attempts, effects }: Shown): void {
  for (const [name, value] of fieldsOf(job)) print(`${name.padEnd(12)}${printable(value)}`);
  if (attempts.length > 0) {
    print("");
    printTable(attempts, attemptColumns);
  }
  if (effects.length > 0) {
    print("");
    printTable(effects, effectColumns);
  }
  for (const { key, next } of effects) {
    if (next !== null) print(`\n${printable(`IN DOUBT: ${key}: ${next}`)}`);
  }
  noteConflicts(effects);
  if (job.state === "failed") printError(job.last_error);
}

/** All lines of it; the table has the first. */
function printError(error: string | null): void {
  const lines = (error ?? "").split("\n");
  if (lines.length === 1) return;
  print("\nthe error of the last attempt:");
  for (const line of lines) print(`  ${printable(line)}`);
}

/** What has a value; the rest would only be in the way. */
function fieldsOf(job: Shown["job"]): readonly (readonly [string, string])[] {
  const fields: readonly (readonly [string, string | null])[] = [
    ["job", job.id],
    ["kind", job.kind],
    ["state", shownState(job)],
    ["next", job.next],
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
    ["app version", job.app_version],
    ["error", job.last_error === null ? null : firstLine(job.last_error)],
    ["result", job.result === null ? null : JSON.stringify(job.result)],
    ["payload", job.payload === undefined ? null : JSON.stringify(job.payload)],
  ];
  return fields.filter((field): field is readonly [string, string] => field[1] !== null);
}
