// Replays what was selected, and says which: the same job, the next attempt number, no completed effect a second time.
import type { Client } from "../client/client.ts";
import { type JobRow, type ReplayAnswer, replay } from "../store/jobs.ts";
import { withClient } from "./client.ts";
import { exitCodes } from "./errors.ts";
import { note, printList } from "./output.ts";
import { type Selection, selectJobs } from "./select-jobs.ts";
import type { Column } from "./table.ts";

export interface ReplayRequest {
  readonly tenant: string;
  readonly selection: Selection;
  readonly dryRun: boolean;
  readonly json: boolean;
}

interface Replayed {
  readonly id: string;
  readonly kind: string;
  readonly object_key: string | null;
  readonly next_attempt: number;
  readonly answer: ReplayAnswer["answer"] | "would be replayed";
}

/** A transaction's worth: the rows stay locked until its end. */
const batchMax = 100;

const columns: readonly Column<Replayed>[] = [
  { title: "job", value: (one) => one.id, whole: true },
  { title: "kind", value: (one) => one.kind },
  { title: "attempt", value: (one) => one.next_attempt },
  { title: "object", value: (one) => one.object_key },
  { title: "answer", value: (one) => one.answer, whole: true },
];

export async function replaySelected({ tenant, selection, dryRun, json }: ReplayRequest): Promise<void> {
  const replayed = await withClient({}, async (client) => {
    const jobs = await client.transaction(tenant, (tx) => selectJobs(tx, tenant, selection));
    return dryRun ? jobs.map((job) => told(job, wouldBe(job))) : await replayAll(client, tenant, jobs);
  });
  printList(replayed, columns, { json, empty: "no job matches: nothing is replayed" });
  for (const { id, answer } of replayed) {
    if (answer === "replayed" || answer === "would be replayed") continue;
    note(answer === "open" ? `job ${id} has not settled yet: there is nothing to replay` : `no such job: ${id}`);
    process.exitCode = exitCodes.failed;
  }
}

async function replayAll(client: Client, tenant: string, jobs: readonly JobRow[]): Promise<readonly Replayed[]> {
  const replayed: Replayed[] = [];
  try {
    for (let start = 0; start < jobs.length; start += batchMax) {
      const batch = jobs.slice(start, start + batchMax);
      const ids = batch.map((job) => job.id);
      const answers = new Map(
        (await client.transaction(tenant, (tx) => replay(tx, tenant, ids))).map(({ id, answer }) => [id, answer]),
      );
      replayed.push(...batch.map((job) => told(job, answers.get(job.id) ?? "not_found")));
      for (const { lane } of batch) client.waker.wake(lane);
    }
  } catch (error) {
    if (replayed.length > 0) note(`${replayed.length} of ${jobs.length} jobs were replayed before this`);
    throw error;
  }
  return replayed;
}

function told({ id, kind, object_key, attempts }: JobRow, answer: Replayed["answer"]): Replayed {
  return { id, kind, object_key, next_attempt: attempts + 1, answer };
}

function wouldBe({ state }: JobRow): Replayed["answer"] {
  return state === "queued" || state === "claimed" || state === "waiting" ? "open" : "would be replayed";
}
