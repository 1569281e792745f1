// Durable steps: a value is computed once in a run, and waiting is a row, not a handler. Whoever has to wait ends the attempt
// with the statement that finds it out; the handler begins again when it is over, and gets here with its values stored.
import { enqueueRow } from "../client/request.ts";
import { createBatcher } from "../core/batcher.ts";
import type { AnyJobDefinition } from "../core/definition.ts";
import { type Duration, toMs } from "../core/duration.ts";
import { DoorbellError } from "../core/errors.ts";
import { assertStorableText, toStorableJson } from "../core/json.ts";
import { PermanentError } from "../core/outcome.ts";
import { isDatabaseTrouble, type Tx } from "../store/database.ts";
import { newJobJson } from "../store/jobs.ts";
import type { Fence } from "../store/ledger.ts";
import { addLanes } from "../store/maintenance.ts";
import * as store from "../store/steps.ts";
import type { Attempt } from "./attempt.ts";
import { ChildFailed, type ChildOutcome, type FailedChild } from "./child-failed.ts";
import type { ReceivedEvent, SpawnChild, WaitOptions } from "./handler.ts";

/** The attempt that asks. */
export interface StepAttempt {
  readonly attempt: Attempt;
  readonly fence: Fence;
  /** Keys that this attempt has used. */
  readonly keys: Set<string>;
}

export interface StepsOptions {
  readonly valueMaxBytes: number;
  /** Something is in the line of this lane, committed. */
  readonly wake: (lane: string) => void;
}

const keyMaxBytes = 500;
const batchMax = 200;
/** One statement enqueues them all, and one later answer has all their results. */
const childrenMax = 10_000;

/** Unwinds the handler of an attempt that has ended already. */
class Waiting extends Error {
  override readonly name = "Waiting";
}

export class Steps {
  readonly #tx: Tx;
  readonly #options: StepsOptions;
  readonly #find: (request: store.StepRequest) => Promise<store.StoredStep | null>;
  readonly #keep: (record: store.StepRecord) => Promise<boolean>;
  readonly #wakeParents: (child: store.Child) => Promise<void>;
  readonly #knownLanes = new Set<string>();

  constructor(tx: Tx, options: StepsOptions) {
    this.#tx = tx;
    this.#options = options;
    const sharing = { batchMax, inFlightMax: 2, splits: (error: unknown) => !isDatabaseTrouble(error) };
    this.#find = createBatcher({
      ...sharing,
      run: (requests: readonly store.StepRequest[]) => store.findSteps(tx, requests),
    });
    this.#keep = createBatcher({
      ...sharing,
      run: (records: readonly store.StepRecord[]) => store.keepSteps(tx, records),
    });
    this.#wakeParents = createBatcher({
      ...sharing,
      run: async (children: readonly store.Child[]) => {
        for (const lane of new Set(await store.wakeParents(tx, children))) options.wake(lane);
        return children.map(() => undefined);
      },
    });
  }

  /** See Job.step. Throws lease_lost, step_conflict, value_not_storable, database_unavailable, and what fn threw. */
  async step<T>(by: StepAttempt, key: string, fn: () => Promise<T> | T): Promise<T> {
    takeKey(by, key);
    const { fence } = by;
    // The first attempt of a job's life can have nothing stored.
    const stored = fence.attempt === 1 ? null : await this.#find({ ...fence, key });
    if (stored !== null) {
      if (stored.type !== "step") throw changed(fence, key);
      return stored.value as T;
    }
    const value = await fn();
    const text =
      value === undefined
        ? null
        : toStorableJson(value, { path: `step ${key}`, maxBytes: this.#options.valueMaxBytes }).text;
    if (!(await this.#keep({ ...fence, key, value: text }))) throw lost(by, key);
    return (text === null ? null : JSON.parse(text)) as T;
  }

  /** See Job.sleep. */
  async sleep(by: StepAttempt, key: string, duration: Duration): Promise<void> {
    const ms = toMs(duration, `sleep "${key}"`);
    takeKey(by, key);
    await this.#wait(by, key, null, ms);
  }

  /** See Job.waitFor. */
  async waitFor(by: StepAttempt, event: string, options: WaitOptions): Promise<ReceivedEvent | null> {
    assertStorableText(event, { name: "event", maxBytes: keyMaxBytes });
    if (event === "") throw new DoorbellError("option_invalid", "the event to wait for has no name");
    const { key = event, timeout } = options;
    const timeoutMs = timeout === undefined ? null : toMs(timeout, `timeout of event "${event}"`);
    takeKey(by, key);
    const answer = await this.#wait(by, key, event, timeoutMs);
    if (answer.verdict === "timeout") return null;
    return { event, payload: answer.value, emittedAt: answer.emittedAt };
  }

  /** See Job.spawnAll. What became of the children, in their order. */
  async spawn(by: StepAttempt, key: string, children: readonly SpawnChild[]): Promise<readonly ChildOutcome[]> {
    takeKey(by, key);
    if (children.length === 0) return [];
    if (children.length > childrenMax)
      throw new DoorbellError("option_invalid", `"${key}" spawns ${children.length} children; at most ${childrenMax}`);
    const names = children.map((child, index) => child.name ?? String(index + 1));
    if (new Set(names).size < names.length)
      throw new DoorbellError("step_conflict", `two children of "${key}" have the same name`);
    for (const name of names)
      assertStorableText(name, { name: "a child's name", maxBytes: keyMaxBytes, code: "key_invalid" });
    const jobs = await Promise.all(children.map((child) => this.#newJob(by, child)));
    const lanes = new Set(children.map((child) => child.job.lane));
    await this.#ensureLanes(lanes);

    const rows = await store.spawn(this.#tx, by.fence, key, names, `[${jobs.join(",")}]`);
    const verdict = rows[0]?.verdict ?? "lost";
    if (verdict === "over") return rows.map((row, index) => outcomeOf(row, children[index]?.job));
    if (verdict === "waiting") for (const lane of lanes) this.#options.wake(lane);
    throw this.#ended(by, key, verdict, null, "wait");
  }

  /** A child has settled: wakes who waited for it. Never rejects: a wake-up that fails is the sweep's to make up for. */
  async settled(child: store.Child): Promise<void> {
    await this.#wakeParents(child).catch(() => {});
  }

  async #newJob({ attempt, fence }: StepAttempt, { job, payload, name: _, ...options }: SpawnChild): Promise<string> {
    const { traceparent } = attempt.claimed;
    const row = await enqueueRow(
      job,
      payload,
      { ...options, tenant: fence.tenant, ...(traceparent !== null && { traceparent }) },
      this.#options,
    );
    return newJobJson(row);
  }

  async #ensureLanes(lanes: ReadonlySet<string>): Promise<void> {
    const unknown = [...lanes].filter((lane) => !this.#knownLanes.has(lane));
    await addLanes(this.#tx, unknown);
    for (const lane of unknown) this.#knownLanes.add(lane);
  }

  async #wait(by: StepAttempt, key: string, event: string | null, waitMs: number | null): Promise<store.WaitAnswer> {
    const answer = await store.waitFor(this.#tx, by.fence, key, event, waitMs);
    if (answer.verdict === "over" || answer.verdict === "timeout") return answer;
    throw this.#ended(by, key, answer.verdict, answer.dueMs, event === null ? "snooze" : "wait");
  }

  /** What is thrown where the handler cannot go on. */
  #ended(
    by: StepAttempt,
    key: string,
    verdict: Exclude<store.WaitVerdict, "over" | "timeout">,
    dueMs: number | null,
    outcome: "snooze" | "wait",
  ): Error {
    const { id, attempt } = by.fence;
    switch (verdict) {
      case "waiting":
        by.attempt.waits = { outcome, dueMs };
        return new Waiting(`attempt ${attempt} of job ${id} has ended: the job waits ("${key}"). Let this error pass`);
      case "lost":
        return lost(by, key);
      case "changed":
        return changed(by.fence, key);
      case "spent":
        return new PermanentError("waits_spent", `job ${id} has waited ${attempt} times, as often as a job can`);
      case "busy":
        return new DoorbellError("database_unavailable", `the row of job ${id} is locked; "${key}" is tried again`);
    }
  }
}

/** A key that is used twice would be two steps taken for one. */
function takeKey({ fence, keys }: StepAttempt, key: string): void {
  assertStorableText(key, { name: "step key", maxBytes: keyMaxBytes, code: "key_invalid" });
  if (key === "") throw new DoorbellError("key_invalid", "a step's key is empty");
  if (keys.has(key)) {
    throw new DoorbellError(
      "step_conflict",
      `step "${key}" of job ${fence.id} was asked for twice in attempt ${fence.attempt}: give each step, sleep, wait and spawn a key of its own`,
    );
  }
  keys.add(key);
}

function changed({ id }: Fence, key: string): DoorbellError {
  return new DoorbellError(
    "step_conflict",
    `step "${key}" of job ${id} was something else in an earlier attempt of this run: another sort of step, another event, or another number of children`,
  );
}

function lost({ attempt, fence }: StepAttempt, key: string): DoorbellError {
  attempt.stop("lease_lost");
  return new DoorbellError(
    "lease_lost",
    `step "${key}" of job ${fence.id} was refused: attempt ${fence.attempt} has lost its lease`,
  );
}

function outcomeOf(row: store.ChildRow, definition: AnyJobDefinition | undefined): ChildOutcome {
  const { id, state, result, error, errorCode } = row;
  const kind = row.kind ?? definition?.kind ?? "";
  if (state === "done") return { id, kind, state, result };
  return { id, kind, state: state ?? "gone", error, errorCode };
}

/** The results, in order. Throws ChildFailed if not all are done. */
export function resultsOf(outcomes: readonly ChildOutcome[]): readonly unknown[] {
  const failed = outcomes.filter((one): one is FailedChild => one.state !== "done");
  if (failed.length > 0) throw new ChildFailed(failed, outcomes.length);
  return outcomes.map((one) => (one.state === "done" ? one.result : null));
}
