// Replays what was selected, and says which: the same job, the next attempt number, no completed effect a second time, but
// for one that a person names. With a canary: one job first, and the others only when it has ended well.
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "../client/client.ts";
import { getJob, type JobRow, type Refire, type ReplayAnswer, refire, replay } from "../store/jobs.ts";
import { withClient } from "./client.ts";
import { exitCodes } from "./errors.ts";
import { firstLine, note, printList } from "./output.ts";
import { type Selection, selectJobs } from "./select-jobs.ts";
import type { Column } from "./table.ts";

export interface ReplayRequest {
  readonly tenant: string;
  readonly selection: Selection;
  /** An effect that is to be done again, although it is completed. */
  readonly refire?: Refire;
  /** For how long the first job is waited for before the others are replayed. Absent: all at once. */
  readonly canaryMs?: number;
  /** Only tells which. */
  readonly dryRun: boolean;
  readonly json: boolean;
}

type Answer = ReplayAnswer["answer"] | "would be replayed" | "kept back";

interface Replayed {
  readonly id: string;
  readonly kind: string;
  readonly object_key: string | null;
  readonly next_attempt: number;
  readonly answer: Answer;
}

/** A transaction's worth: the rows stay locked until its end. */
const batchMax = 100;
const lookEveryMs = 250;

const columns: readonly Column<Replayed>[] = [
  { title: "job", value: (one) => one.id, whole: true },
  { title: "kind", value: (one) => one.kind },
  { title: "attempt", value: (one) => one.next_attempt },
  { title: "object", value: (one) => one.object_key },
  { title: "answer", value: (one) => one.answer, whole: true },
];

export async function replaySelected(request: ReplayRequest): Promise<void> {
  const { tenant, selection, dryRun, json } = request;
  const replayed = await withClient({}, async (client) => {
    const jobs = await client.transaction(tenant, (tx) => selectJobs(tx, tenant, selection));
    if (dryRun) return jobs.map((job) => told(job, wouldBe(job)));
    return request.canaryMs === undefined
      ? await replayAll(client, request, jobs)
      : await replayBehindCanary(client, request, jobs, request.canaryMs);
  });
  printList(replayed, columns, { json, empty: "no job matches: nothing is replayed" });
  for (const { id, answer } of replayed) {
    if (answer === "replayed" || answer === "would be replayed") continue;
    if (answer !== "kept back") note(remarkOn(id, answer, request.refire));
    process.exitCode = exitCodes.failed;
  }
}

/** One transaction for each batch; an error tells how far it came. */
async function replayAll(
  client: Client,
  { tenant, refire: effect }: ReplayRequest,
  jobs: readonly JobRow[],
): Promise<readonly Replayed[]> {
  const replayed: Replayed[] = [];
  try {
    for (let start = 0; start < jobs.length; start += batchMax) {
      const batch = jobs.slice(start, start + batchMax);
      const ids = batch.map((job) => job.id);
      const given = await client.transaction(tenant, (tx) =>
        effect === undefined ? replay(tx, tenant, ids) : refire(tx, tenant, ids, effect),
      );
      const answers = new Map(given.map(({ id, answer }) => [id, answer]));
      replayed.push(...batch.map((job) => told(job, answers.get(job.id) ?? "not_found")));
      for (const { lane } of batch) client.waker.wake(lane);
    }
  } catch (error) {
    if (replayed.length > 0) note(`${replayed.length} of ${jobs.length} jobs were replayed before this`);
    throw error;
  }
  return replayed;
}

/** The canary is the first that can be replayed. */
async function replayBehindCanary(
  client: Client,
  request: ReplayRequest,
  jobs: readonly JobRow[],
  withinMs: number,
): Promise<readonly Replayed[]> {
  const replayed: Replayed[] = [];
  const rest = [...jobs];
  for (let job = rest.shift(); job !== undefined; job = rest.shift()) {
    const answers = await replayAll(client, request, [job]);
    replayed.push(...answers);
    if (answers[0]?.answer !== "replayed") continue;
    if (rest.length === 0) break;
    note(`the canary runs: job ${job.id}; ${rest.length} wait for it`);
    const trouble = await troubleOf(client, request.tenant, job, withinMs);
    if (trouble === null) return [...replayed, ...(await replayAll(client, request, rest))];
    note(`${trouble}: ${rest.length} jobs are kept back`);
    return [...replayed, ...rest.map((other) => told(other, "kept back"))];
  }
  return replayed;
}

/** Null: it has ended well. */
async function troubleOf(client: Client, tenant: string, { id }: JobRow, withinMs: number): Promise<string | null> {
  const until = Date.now() + withinMs;
  for (;;) {
    const now = await client.transaction(tenant, (tx) => getJob(tx, tenant, id));
    if (now === null) return `the canary ${id} is gone`;
    if (now.state === "done") return null;
    if (now.finished_at !== null) return `the canary ${id} is ${now.state} (${firstLine(now.last_error)})`;
    if (now.state === "waiting") return `the canary ${id} waits: doorbell jobs show tells what for`;
    if (Date.now() >= until) {
      return `the canary ${id} has not ended within ${Math.round(withinMs / 1_000)} s (${firstLine(now.last_error)})`;
    }
    await delay(lookEveryMs);
  }
}

function told({ id, kind, object_key, attempts }: JobRow, answer: Answer): Replayed {
  return { id, kind, object_key, next_attempt: attempts + 1, answer };
}

function wouldBe({ state }: JobRow): Answer {
  return state === "queued" || state === "claimed" || state === "waiting" ? "open" : "would be replayed";
}

function remarkOn(id: string, answer: Answer, effect: Refire | undefined): string {
  switch (answer) {
    case "open":
      return `job ${id} has not settled yet: there is nothing to replay`;
    case "key_taken":
      return `job ${id} was not replayed: its idempotency key is another job's by now, and both would do the same`;
    case "not_completed":
      return `job ${id} was not replayed: it has no completed effect "${effect?.key ?? ""}"; doorbell effects list --job ${id} tells which it has`;
    default:
      return `no such job: ${id}`;
  }
}
