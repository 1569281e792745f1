// From what happened on the wire to what became of the webhook: the table of docs/effects.md, as code.
// The first row that is true wins, and in doubt it is "unknown": a webhook is sent again under the same id.
import { describeFailure } from "../../core/failure.ts";
import type { NotDone, Unknown } from "../transport-result.ts";
import { BlockedAddressError } from "./guarded-connector.ts";

export interface Delivered {
  readonly outcome: "completed";
  readonly status: number;
}

/** What a request that did not succeed was answered. Absent: nothing. */
interface Answered {
  readonly status?: number;
}

export type WebhookResult = Delivered | (NotDone & Answered) | (Unknown & Answered);

const retryAfterMaxMs = 3_600_000;

/** The receiver was busy with something else or did not take the request: it may be sent again. */
const notTaken: ReadonlySet<number> = new Set([408, 409, 425, 429, 503]);
/** Redirects that may be gone tomorrow: a maintenance page, a login. */
const passingRedirects: ReadonlySet<number> = new Set([302, 303, 307]);

export interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  /** For messages: the host, and the beginning of what it said. */
  readonly summary: string;
}

export function classifyAnswer(answer: Answer, nowSeconds: number): WebhookResult {
  const { status, summary: reason } = answer;
  if (status >= 200 && status < 300) return { outcome: "completed", status };
  if (status === 429 || status === 503) return { outcome: "not_done", reason, ...retryAfterOf(answer, nowSeconds) };
  if (notTaken.has(status) || passingRedirects.has(status)) return { outcome: "not_done", reason };
  if (status >= 300 && status < 500) return { outcome: "not_done", reason, permanent: true };
  return { outcome: "unknown", reason };
}

/** `sent`: a connection was open, and the request was on its way. */
export function classifyFailure(error: unknown, host: string, sent: boolean): NotDone | Unknown {
  const reason = `${host}: ${describeFailure(error).message}`;
  if (sent) return { outcome: "unknown", reason: `${reason} (after the request was sent)` };
  if (error instanceof BlockedAddressError) return { outcome: "not_done", reason, permanent: true };
  return { outcome: "not_done", reason };
}

/** Seconds, or an HTTP date. What is neither, or has passed, is as good as not said. */
function retryAfterOf({ retryAfter }: Answer, nowSeconds: number): { retryAfterMs?: number } {
  if (retryAfter === null) return {};
  const text = retryAfter.trim();
  // Dates of HTTP begin with a weekday. Without this, "-5" would be a date as well.
  const at = /^[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  const ms = /^\d{1,10}$/.test(text) ? Number(text) * 1_000 : at - nowSeconds * 1_000;
  return ms > 0 ? { retryAfterMs: Math.min(ms, retryAfterMaxMs) } : {};
}
