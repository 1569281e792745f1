// `doorbell effects`: the ledger's entries, and a person's answer about one that is in doubt.
import { Command, Option } from "commander";
import { DoorbellError } from "../core/errors.ts";
import { toStorableJson } from "../core/json.ts";
import { getJob } from "../store/jobs.ts";
import { type EffectState, listEffects, type ResolveAnswer, resolveEffect } from "../store/ledger.ts";
import { actorOption, jobArgument, jobId, jsonOption, jsonValue, reasonOption, tenantOption } from "./arguments.ts";
import { asTenant, handledBytesMax, withClient } from "./client.ts";
import { type EffectKnowledge, knowledgeOf, noteConflicts, shownKnowledge } from "./effect-state.ts";
import { firstLine, instant, print, printJson, printList } from "./output.ts";
import type { Column } from "./table.ts";

type ShownEffect = EffectState & { readonly state: EffectKnowledge };

const columns: readonly Column<ShownEffect>[] = [
  { title: "job", value: (effect) => effect.job_id, whole: true },
  { title: "effect", value: (effect) => effect.key, whole: true },
  { title: "type", value: (effect) => effect.type },
  { title: "state", value: (effect) => shownKnowledge[effect.state], whole: true },
  { title: "begun", value: (effect) => instant(effect.begun_at) },
  { title: "by attempt", value: (effect) => effect.attempt },
  { title: "says", value: (effect) => effect.actor ?? effect.source },
  { title: "reason", value: (effect) => firstLine(effect.reason) },
];

export function effectsCommand(): Command {
  return new Command("effects")
    .description("side effects, and what is known of them")
    .addCommand(listCommand())
    .addCommand(resolveCommand());
}

interface ListGiven {
  readonly tenant: string;
  readonly job?: string;
  readonly inDoubt?: boolean;
  readonly json?: boolean;
}

function listCommand(): Command {
  return new Command("list")
    .description("in the order in which they were begun")
    .addOption(tenantOption())
    .addOption(new Option("--job <job>", "of one job").argParser(jobId))
    .option("--in-doubt", "those of which nobody knows whether they happened")
    .addOption(jsonOption())
    .action(async ({ tenant, job, inDoubt = false, json = false }: ListGiven) => {
      const effects = await asTenant(tenant, async (tx) => {
        const found = await listEffects(tx, tenant, job ?? null, inDoubt);
        const open = found.filter((effect) => effect.outcome === null).map((effect) => effect.job_id);
        const jobs = new Map(
          await Promise.all([...new Set(open)].map(async (id) => [id, await getJob(tx, tenant, id)] as const)),
        );
        return found.map(
          (effect): ShownEffect => ({ ...effect, state: knowledgeOf(effect, jobs.get(effect.job_id) ?? null) }),
        );
      });
      const shown = inDoubt ? effects.filter((effect) => effect.state === "in_doubt") : effects;
      printList(shown, columns, { json, empty: inDoubt ? "no effect is in doubt" : "no effects" });
      if (!json) noteConflicts(shown);
    });
}

interface ResolveGiven {
  readonly tenant: string;
  readonly happened?: boolean;
  readonly didNotHappen?: boolean;
  readonly value?: unknown;
  readonly reason: string;
  readonly actor: string;
  readonly json?: boolean;
}

function resolveCommand(): Command {
  return new Command("resolve")
    .description("say what became of an effect in doubt; the job goes on with that")
    .addArgument(jobArgument())
    .argument("<key>", "the effect's key")
    .addOption(tenantOption())
    .addOption(new Option("--happened", "it did: it is not done again").conflicts("didNotHappen"))
    .addOption(new Option("--did-not-happen", "it did not: it is done again").conflicts("value"))
    .addOption(
      new Option("--value <json>", "with --happened: what the handler is to see as its value").argParser(jsonValue),
    )
    .addOption(reasonOption("how that is known, for the record").makeOptionMandatory())
    .addOption(actorOption())
    .addOption(jsonOption())
    .action(async (job: string, key: string, given: ResolveGiven) => {
      const { tenant, happened = false, didNotHappen = false, value, reason, actor, json = false } = given;
      if (!happened && !didNotHappen) throw new DoorbellError("option_invalid", "say --happened or --did-not-happen");
      const outcome = happened ? "completed" : "not_done";
      const text =
        value === undefined ? null : toStorableJson(value, { path: "value", maxBytes: handledBytesMax }).text;
      const answer = await withClient({}, async (client) => {
        const [resolved, row] = await client.transaction(tenant, async (tx) => [
          await resolveEffect(tx, { tenant, job, key, outcome, value: text, reason, actor }),
          await getJob(tx, tenant, job),
        ]);
        if (resolved === "resolved" && row !== null) client.waker.wake(row.lane);
        return resolved;
      });
      requireResolved(answer, job, key);
      if (json) printJson({ job, key, answer });
      else print(`resolved: effect ${key} of job ${job} ${happened ? "happened" : "did not happen"}, says ${actor}`);
    });
}

function requireResolved(answer: ResolveAnswer, job: string, key: string): void {
  if (answer === "not_found") throw new DoorbellError("job_not_found", `no such effect: ${key} of job ${job}`);
  if (answer === "not_in_doubt") {
    throw new DoorbellError(
      "effect_conflict",
      `effect ${key} of job ${job} is not in doubt: it is known what became of it`,
    );
  }
  if (answer === "under_way") {
    throw new DoorbellError("effect_conflict", `effect ${key} of job ${job} is under way: its attempt still runs`);
  }
}
