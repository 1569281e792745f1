// When a failed attempt is tried again, and how often.
// Owns the backoff functions and the default policy. The arithmetic is total: every attempt number, every random source
// and every policy of the application gives a finite delay. Randomness is passed in, never taken.
import { type Duration, toMs } from "./duration.ts";
import { DoorbellError } from "./errors.ts";

/** Milliseconds to wait after the failure of this attempt (counted from 1). `random` gives numbers in [0, 1). */
export type Backoff = (attempt: number, random: () => number) => number;

export interface RetryPolicy {
  /** Attempts in all, the first included. */
  readonly maxAttempts: number;
  readonly backoff: Backoff;
}

export interface BackoffOptions {
  /** The delay after the first failure. */
  readonly base: Duration;
  /** No delay is longer. Default: one hour. */
  readonly max?: Duration;
  /**
   * The share of the delay, in [0, 1], that chance may take away. It only ever shortens: were it to lengthen, the delays
   * that have reached `max` would all be cut to the same value, and a crowd that failed together would return together.
   * Default: 0.2.
   */
  readonly jitter?: number;
}

/** base, 2 × base, 4 × base, … up to max. */
export function exponential(options: BackoffOptions): Backoff {
  return backoff(options, (base, failures) => base * 2 ** failures);
}

/** base, 2 × base, 3 × base, … up to max. */
export function linear(options: BackoffOptions): Backoff {
  return backoff(options, (base, failures) => base * (failures + 1));
}

/** base every time. */
export function fixed(options: BackoffOptions): Backoff {
  return backoff(options, (base) => base);
}

/**
 * Ten attempts over about a quarter of an hour (2 s, 4 s, … 8 min 32 s). Long enough to outlive a deploy, a failover or a
 * restart of what the handler calls; short enough that a job which cannot succeed is among the dead letters, where people
 * look, while its cause is still fresh.
 */
export const defaultRetryPolicy: RetryPolicy = {
  maxAttempts: 10,
  backoff: exponential({ base: "2s", max: "10m", jitter: 0.2 }),
};

const attemptsMax = 1_000;

/** The policy with the defaults filled in. Throws option_invalid unless maxAttempts is a whole number in [1, 1000]. */
export function resolveRetryPolicy(policy: Partial<RetryPolicy> = {}): RetryPolicy {
  const maxAttempts = policy.maxAttempts ?? defaultRetryPolicy.maxAttempts;
  if (!Number.isInteger(maxAttempts) || maxAttempts < 1 || maxAttempts > attemptsMax) {
    throw new DoorbellError("option_invalid", `maxAttempts is not a whole number from 1 to ${attemptsMax}`);
  }
  const chosen = policy.backoff ?? defaultRetryPolicy.backoff;
  if (typeof chosen !== "function") throw new DoorbellError("option_invalid", "backoff is not a function");
  return { maxAttempts, backoff: chosen };
}

/**
 * The delay in whole milliseconds after a failed attempt. An application's own backoff that throws or answers with
 * something that is no duration is replaced by the default one: recording a failure must not fail.
 */
export function retryDelayMs(policy: RetryPolicy, attempt: number, random: () => number): number {
  try {
    return toMs(policy.backoff(attempt, random), "backoff");
  } catch {
    return Math.round(defaultRetryPolicy.backoff(attempt, random));
  }
}

function backoff(options: BackoffOptions, grow: (baseMs: number, failuresBefore: number) => number): Backoff {
  const baseMs = toMs(options.base, "backoff base");
  const maxMs = toMs(options.max ?? "1h", "backoff max");
  const jitter = options.jitter ?? 0.2;
  if (!(jitter >= 0 && jitter <= 1)) throw new DoorbellError("option_invalid", "backoff jitter is not in [0, 1]");
  return (attempt, random) => {
    // Beyond a thousand doublings every base has long met its maximum; the bound keeps the power finite.
    const failuresBefore = Math.floor(within(attempt - 1, 0, 1_000));
    const fullMs = Math.min(grow(baseMs, failuresBefore), maxMs);
    return fullMs * (1 - jitter * within(random(), 0, 1));
  };
}

function within(value: number, low: number, high: number): number {
  return Number.isNaN(value) ? low : Math.min(Math.max(value, low), high);
}
