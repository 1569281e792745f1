// What a handler can say about its own attempt: values it returns (snooze, cancel) and errors it throws.
// Any other return value is the result, any other thrown value means "retry by policy".
// All four are recognised by brand, so that a handler and a worker may come from two copies of this package.
import { hasBrand, putBrand } from "./brand.ts";
import { type Duration, toMs } from "./duration.ts";
import { cutToBytes, replaceUnstorable } from "./text.ts";

const snoozeBrand = "snooze";
const cancelBrand = "cancel";
const permanent = "permanent-error";
const retryAfter = "retry-after-error";

const reasonMaxBytes = 2_000;

/** Run this job again later, without charging the attempt. */
export interface Snooze {
  readonly outcome: "snooze";
  readonly delayMs: number;
}

/** End this job as cancelled: not done, and not a failure either. */
export interface Cancel {
  readonly outcome: "cancel";
  readonly reason: string;
}

/** To be returned from a handler. Throws option_invalid for a delay that is no duration. */
export function snooze(delay: Duration): Snooze {
  return branded(snoozeBrand, { outcome: "snooze", delayMs: toMs(delay, "snooze delay") });
}

/** To be returned from a handler. The reason is kept in the history: cut at 2,000 bytes. */
export function cancel(reason: string): Cancel {
  const text = cutToBytes(replaceUnstorable(String(reason)), reasonMaxBytes);
  return branded(cancelBrand, { outcome: "cancel", reason: text === "" ? "no reason given" : text });
}

export function isSnooze(value: unknown): value is Snooze {
  return hasBrand(value, snoozeBrand);
}

export function isCancel(value: unknown): value is Cancel {
  return hasBrand(value, cancelBrand);
}

function branded<T extends object>(brand: string, value: T): Readonly<T> {
  putBrand(value, brand);
  return Object.freeze(value);
}

/** Thrown by a handler when no retry can help: the job becomes a dead letter at once, with this code and message. */
export class PermanentError extends Error {
  static {
    putBrand(PermanentError.prototype, permanent);
    PermanentError.prototype.name = "PermanentError";
  }

  /** The application's own code, such as "document_encrypted": short, stable, the same for every such failure. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  static isInstance(value: unknown): value is PermanentError {
    return hasBrand(value, permanent);
  }
}

/** Thrown by a handler that knows when to try again. The attempt counts; the delay replaces the policy's backoff. */
export class RetryAfterError extends Error {
  static {
    putBrand(RetryAfterError.prototype, retryAfter);
    RetryAfterError.prototype.name = "RetryAfterError";
  }

  readonly delayMs: number;

  constructor(delay: Duration, message: string, options?: ErrorOptions) {
    super(message, options);
    this.delayMs = toMs(delay, "retry delay");
  }

  static isInstance(value: unknown): value is RetryAfterError {
    return hasBrand(value, retryAfter);
  }
}
