// Jobs without a worker beside the test: each runs in the enqueue, on the real path (claim, ledger, settlement).
import { setTimeout as sleep } from "node:timers/promises";
import type { EnqueueOptions } from "../client/request.ts";
import type { JobDefinition } from "../core/definition.ts";
import type { Doorbell } from "../doorbell.ts";
import { type Ends, runOnce } from "../lambda/index.ts";
import type { Handler } from "../worker/handler.ts";
import { createWorker, type WorkerOptions } from "../worker/worker.ts";

export interface InlineOptions
  extends Pick<WorkerOptions, "smtpUrl" | "allowPrivateWebhooks" | "secretKeys" | "transactionsMax"> {
  /** How long a job may take. Default 10 s. */
  readonly timeoutMs?: number;
}

export interface Inline extends AsyncDisposable {
  /**
   * Enqueues a job, runs one attempt of it, and gives its result. A job that was there before and is done gives the result of
   * that. Throws when the attempt ended otherwise, and what enqueue throws. Not in a transaction: until its commit there is
   * no job.
   */
  enqueue<In, Out>(job: JobDefinition<In, Out>, payload: In, options: EnqueueOptions): Promise<unknown>;
}

/** Runs jobs in their enqueue, one at a time. Other kinds than those of these handlers stay queued. Dispose of it before the doorbell is closed. */
export async function inline(
  doorbell: Doorbell,
  handlers: readonly Handler[],
  { timeoutMs = 10_000, ...options }: InlineOptions = {},
): Promise<Inline> {
  const worker = createWorker(doorbell.client, handlers, { ...options, byHand: true });
  await worker.start();
  let last: Promise<unknown> = Promise.resolve();

  const runNow = async (tenant: string, id: string): Promise<unknown> => {
    await worker.claim([{ job_id: id, tenant_id: tenant }]);
    for (const until = performance.now() + timeoutMs; performance.now() < until; await sleep(3)) {
      const row = await find(doorbell, tenant, id);
      if (row.state === "claimed") continue;
      if (row.state === "done") return row.result;
      throw new Error(`job ${id} of kind ${row.kind} is ${row.state} after its attempt: ${row.last_error ?? notYet}`);
    }
    throw new Error(`job ${id} has not ended within ${timeoutMs} ms`);
  };
  return {
    async enqueue(job, payload, enqueueOptions) {
      const { id } = await doorbell.enqueue(job, payload, enqueueOptions);
      const running = last.then(() => runNow(enqueueOptions.tenant, id));
      last = running.catch(() => {});
      return await running;
    },
    [Symbol.asyncDispose]: () => worker.drain(),
  };
}

const notYet = "it is not due, waits for something, or no handler was given for its kind";

interface Found {
  readonly kind: string;
  readonly state: string;
  readonly result: unknown;
  readonly last_error: string | null;
}

async function find(doorbell: Doorbell, tenant: string, id: string): Promise<Found> {
  const text =
    "select kind, state, result, last_error from doorbell.all_jobs where tenant_id = $1 and id = ($2::text)::uuid";
  const [row] = await doorbell.transaction(tenant, (tx) => tx.query<Found>(text, [tenant, id]));
  if (row === undefined) throw new Error(`job ${id} of tenant ${tenant} is gone`);
  return row;
}

export interface Drained {
  /** Attempts that ran. */
  readonly claimed: number;
  readonly ends: Ends;
}

/**
 * Runs everything that is due and that these handlers are for, and what that enqueues, until nothing is left. What is due
 * later stays: see makeDue. Throws after `timeoutMs` (default 30 s), for jobs that enqueue themselves for ever.
 */
export async function drain(
  doorbell: Doorbell,
  handlers: readonly Handler[],
  { timeoutMs = 30_000, ...options }: InlineOptions = {},
): Promise<Drained> {
  const until = performance.now() + timeoutMs;
  const ends: Record<string, number> = {};
  let claimed = 0;
  for (;;) {
    const deadlineMs = until - performance.now();
    if (deadlineMs <= 0)
      throw new Error(`after ${timeoutMs} ms and ${claimed} attempts there are still jobs that are due`);
    const round = await runOnce({ ...options, doorbell, handlers, deadlineMs, maxJobs: 100_000 });
    claimed += round.claimed;
    for (const [end, count] of Object.entries(round.ends)) ends[end] = (ends[end] ?? 0) + count;
    // What a job has woken with its last breath comes in another round.
    if (round.claimed === 0 && round.because === "empty") return { claimed, ends };
  }
}
