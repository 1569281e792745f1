// One attempt from its claim to its outcome. Whatever a handler does, throws or leaves behind, this ends with a
// settlement, or with null where there is none to make. It runs handlers; it writes nothing itself.
import { parsePayload } from "../core/definition.ts";
import { DoorbellError } from "../core/errors.ts";
import { describeFailure, failureText, fingerprint } from "../core/failure.ts";
import { toStorableJson } from "../core/json.ts";
import { isCancel, isSnooze, PermanentError, RetryAfterError } from "../core/outcome.ts";
import { retryDelayMs } from "../core/retry.ts";
import { isParked } from "../effects/ledger.ts";
import { isDatabaseTrouble } from "../store/database.ts";
import type { Settlement } from "../store/ticks.ts";
import type { Attempt, StopReason } from "./attempt.ts";
import type { Job } from "./handler.ts";

export interface ExecutorDeps {
  readonly openJob: (attempt: Attempt, payload: unknown) => Job<unknown>;
  readonly valueMaxBytes: number;
  readonly random: () => number;
  /** Told when a handler outlives its attempt, and when it ends at last. */
  readonly onLeft: (attempt: Attempt) => void;
  readonly onLeftEnded: (attempt: Attempt) => void;
}

/** Trouble with the database is no fault of the job's: it is given back, and tried again after a moment. */
const troubleDelayMs = 2_000;

/** Never rejects. Null: the lease is lost, or the handler has settled the job itself, or let it wait. */
export async function execute(attempt: Attempt, deps: ExecutorDeps): Promise<Settlement | null> {
  try {
    const { definition } = attempt.handler;
    const payload =
      definition.schema === null ? attempt.claimed.payload : await parsePayload(definition, attempt.claimed.payload);
    const returned = attempt.handler.run(deps.openJob(attempt, payload) as Job<never>);
    if (!(returned instanceof Promise)) return succeeded(attempt, await returned, deps.valueMaxBytes);
    const ended = await attempt.race(returned);
    if ("value" in ended) return succeeded(attempt, ended.value, deps.valueMaxBytes);
    watchLeft(attempt, returned, deps);
    return stopped(attempt, ended.stopped);
  } catch (thrown) {
    return failed(attempt, thrown, deps.random);
  }
}

const settlement = (attempt: Attempt, rest: Omit<Settlement, "tenant" | "id" | "attempt">): Settlement => ({
  tenant: attempt.claimed.tenant,
  id: attempt.claimed.id,
  attempt: attempt.claimed.attempt,
  ...rest,
});

function succeeded(attempt: Attempt, value: unknown, valueMaxBytes: number): Settlement | null {
  if (attempt.completed) return null;
  if (attempt.waits !== null) return stopped(attempt, "waiting");
  if (isSnooze(value)) return settlement(attempt, { outcome: "snooze", delayMs: value.delayMs });
  if (isCancel(value)) return settlement(attempt, { outcome: "cancelled", error: value.reason });
  const result = value === undefined ? null : toStorableJson(value, { path: "result", maxBytes: valueMaxBytes }).text;
  return settlement(attempt, { outcome: "done", result });
}

function stopped(attempt: Attempt, reason: StopReason): Settlement | null {
  switch (reason) {
    case "lease_lost":
      return null;
    case "waiting":
      attempt.stop("waiting"); // what the handler has left running
      return null;
    case "released":
      return settlement(attempt, {
        outcome: "release",
        error: "the worker ended before the job did",
        code: "released",
      });
    case "timeout": {
      const { timeoutMs } = attempt.handler.definition;
      return failed(attempt, new AttemptTimeout(`the attempt took longer than ${timeoutMs} ms`), Math.random);
    }
  }
}

class AttemptTimeout extends Error {
  readonly code = "timeout";
}

/**
 * Also where the handler had settled the job in its own transaction: if that was rolled back, this counts; if it committed,
 * the fence refuses this.
 */
function failed(attempt: Attempt, thrown: unknown, random: () => number): Settlement | null {
  if (attempt.waits !== null) return stopped(attempt, "waiting");
  if (attempt.stopped === "lease_lost" || DoorbellError.isInstance(thrown, "lease_lost")) return null;
  if (isParked(thrown)) return settlement(attempt, { outcome: "wait", error: thrown.message, code: "effect_in_doubt" });

  const { definition } = attempt.handler;
  const failure = describeFailure(thrown);
  const told = { error: failureText(failure), code: failure.code ?? failure.name };
  if (isDatabaseTrouble(thrown)) return settlement(attempt, { outcome: "release", delayMs: troubleDelayMs, ...told });

  const fingerprinted = { ...told, fingerprint: fingerprint(definition.kind, failure) };
  if (isPermanent(thrown)) return settlement(attempt, { outcome: "failed", ...fingerprinted });
  const delayMs = RetryAfterError.isInstance(thrown)
    ? thrown.delayMs
    : retryDelayMs(definition.retry, attempt.claimed.attempt, random);
  return settlement(attempt, { outcome: "retry", delayMs, ...fingerprinted });
}

/** Errors of ours that no retry mends: a payload that does not match, an input that is gone, a value that cannot be kept. */
function isPermanent(thrown: unknown): boolean {
  if (PermanentError.isInstance(thrown)) return true;
  return (
    DoorbellError.isInstance(thrown) &&
    !thrown.traits.retryable &&
    thrown.code !== "closed" &&
    thrown.code !== "transaction_rolled_back"
  );
}

/** The attempt has ended, its handler has not: it is counted until it does. What it comes to is of no interest any more. */
function watchLeft(attempt: Attempt, running: Promise<unknown>, deps: ExecutorDeps): void {
  deps.onLeft(attempt);
  const ended = (): void => deps.onLeftEnded(attempt);
  running.then(ended, ended);
}
