// `doorbell check KIND`: what the jobs of a kind prove about it, and what is still to be tried: docs/checklist.md.
import { Command } from "commander";
import type { Client } from "../client/client.ts";
import { checkedJobs, repeatedEffect, skippedEffect, toldAttempts } from "../store/check.ts";
import type { Tx } from "../store/database.ts";
import { type JobRow, listJobs } from "../store/jobs.ts";
import { jsonOption, tenantOption } from "./arguments.ts";
import { withClient } from "./client.ts";
import { dryRun } from "./dry-run.ts";
import { exitCodes } from "./errors.ts";
import { firstLine, print, printJson } from "./output.ts";
import { printable } from "./table.ts";

interface Answer {
  readonly question: string;
  /** Not known: no job has shown it yet. */
  readonly answer: "yes" | "no" | "not known";
  readonly evidence: string;
  /** Where the answer is not yes. */
  readonly do: string | null;
}

interface Given {
  readonly tenant: string;
  readonly app?: string;
  readonly json?: boolean;
}

export function checkCommand(): Command {
  return new Command("check")
    .description("what the jobs of a kind prove about it; exit code 0 if every answer is yes")
    .argument("<kind>", "the kind")
    .addOption(tenantOption())
    .option("--app <file>", "the application's module: the newest job that is done is tried here, by a dry run")
    .addOption(jsonOption())
    .action(async (kind: string, { tenant, app, json = false }: Given) => {
      const answers = await withClient({ objects: true }, async (client) => {
        const ask = <T>(about: (tx: Tx) => Promise<T>): Promise<T> => client.transaction(tenant, about);
        const jobs = await ask((tx) => listJobs(tx, tenant, { kind, limit: checkedJobs }));
        return [
          await isReplayable(client, tenant, jobs),
          ...(app === undefined ? [] : [await endsAsItDid(tenant, jobs, app)]),
          await ask((tx) => skipsEffects(tx, tenant, kind)),
          reachesDeadLetters(jobs),
          await ask((tx) => tellsById(tx, tenant, kind)),
        ];
      });
      if (json) printJson(answers);
      else for (const answer of answers) printAnswer(answer);
      if (answers.some(({ answer }) => answer !== "yes")) process.exitCode = exitCodes.failed;
    });
}

function printAnswer({ question, answer, evidence, do: next }: Answer): void {
  print(`${answer.padEnd(9)}  ${question}\n           ${printable(evidence)}`);
  if (next !== null) print(`           do: ${printable(next)}`);
}

/** Its newest input is read, and proven to be what was enqueued. */
async function isReplayable(client: Client, tenant: string, jobs: readonly JobRow[]): Promise<Answer> {
  const question = "can it be run again from its object key alone?";
  if (jobs.length === 0) {
    return {
      question,
      answer: "not known",
      evidence: "no such job yet",
      do: "enqueue one with an object (doorbell objects put, doorbell enqueue --object-key)",
    };
  }
  const job = jobs.find(({ object_key }) => object_key !== null);
  if (job?.object_key == null) {
    return {
      question,
      answer: "no",
      evidence: `none of the newest ${jobs.length} jobs has an object`,
      do: "put its input into the object store, and enqueue it with that key",
    };
  }
  const { object_key: key, object_sha256: sha256, object_size: size, id } = job;
  try {
    await client.objects.get(tenant, key, sha256 === null || size === null ? {} : { expect: { sha256, size } });
  } catch (error) {
    return {
      question,
      answer: "no",
      evidence: `job ${id}: its object ${key} cannot be read: ${(error as Error).message}`,
      do: "bring the object back, or find out who removes objects that jobs still need",
    };
  }
  const evidence = `job ${id}: its object ${key} is there, ${size ?? "?"} bytes, with the hash that it was enqueued with; doorbell replay --object-key finds it`;
  return { question, answer: "yes", evidence, do: null };
}

async function endsAsItDid(tenant: string, jobs: readonly JobRow[], app: string): Promise<Answer> {
  const question = "does a second run end as the first did?";
  const job = jobs.find(({ state }) => state === "done");
  if (job === undefined) {
    return { question, answer: "not known", evidence: "no job of it is done yet", do: "run one, then ask again" };
  }
  const [run] = await dryRun({ tenant, selection: { ids: [job.id] }, app, concurrency: 1 });
  if (run?.now === "done" && run.differs.length === 0) {
    return { question, answer: "yes", evidence: `job ${job.id}, in a dry run of this application`, do: null };
  }
  const why =
    run?.stopped_at != null
      ? `it would call ${run.stopped_at}`
      : (run?.error ?? `${run?.now}, ${run?.differs.length ?? 0} fields differ`);
  return {
    question,
    answer: "no",
    evidence: `job ${job.id}, in a dry run of this application: ${firstLine(why)}`,
    do: `doorbell replay ${job.id} --dry-run --app ${app}`,
  };
}

async function skipsEffects(tx: Tx, tenant: string, kind: string): Promise<Answer> {
  const question = "does a second run skip effects that are completed?";
  const repeated = await repeatedEffect(tx, tenant, kind);
  if (repeated !== null) {
    return {
      question,
      answer: "no",
      evidence: `job ${repeated.id} began effect ${repeated.key} again although it was completed`,
      do: `doorbell logs ${repeated.id}`,
    };
  }
  const skipped = await skippedEffect(tx, tenant, kind);
  if (skipped === null) {
    return {
      question,
      answer: "not known",
      evidence: "no job with a completed effect has run a second time yet",
      do: "doorbell replay one that is done, then ask again",
    };
  }
  const { id, key, begun_in, done_in } = skipped;
  const evidence = `job ${id}: effect ${key} was done in attempt ${begun_in}, and not in attempt ${done_in}, which ended well`;
  return { question, answer: "yes", evidence, do: null };
}

function reachesDeadLetters(jobs: readonly JobRow[]): Answer {
  const question = "does poison reach the dead letters?";
  const job = jobs.find(({ state }) => state === "failed") ?? jobs.find(({ state }) => state === "discarded");
  if (job === undefined) {
    return {
      question,
      answer: "not known",
      evidence: "no such job yet",
      do: "enqueue one whose input cannot be processed; let its handler throw PermanentError for it",
    };
  }
  const { id, state, attempts, error_code, last_error } = job;
  const evidence = `job ${id} is ${state}, after ${attempts} attempts: ${error_code ?? ""} ${firstLine(last_error)}`;
  return { question, answer: "yes", evidence, do: null };
}

async function tellsById(tx: Tx, tenant: string, kind: string): Promise<Answer> {
  const question = "are all its logs there, by its id?";
  const told = await toldAttempts(tx, tenant, kind);
  if (told.length === 0) {
    return {
      question,
      answer: "not known",
      evidence: "no job of it has been done for a second yet",
      do: "run one, then ask again",
    };
  }
  const silent = told.find((job) => job.silent);
  if (silent !== undefined) {
    return {
      question,
      answer: "no",
      evidence: `job ${silent.id} has said nothing in its last attempt`,
      do: "use job.log and job.stage in its handler, not console.log or a logger of your own",
    };
  }
  const [newest] = told;
  const evidence = `each of the newest ${told.length} that are done has lines of its last attempt; doorbell logs ${newest?.id} has ${newest?.lines}`;
  return { question, answer: "yes", evidence, do: null };
}
