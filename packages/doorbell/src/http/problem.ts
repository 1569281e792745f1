// Errors as answers: problem+json (RFC 9457), with the status of errorTable. What is not an operating error is ours to
// explain, not the caller's to read: it is logged, and answered without a word about its inside.
import { STATUS_CODES } from "node:http";
import { DoorbellError, errorTable } from "../core/errors.ts";
import type { Log } from "../telemetry/log.ts";

export interface Problem {
  readonly status: number;
  readonly detail: string;
  /** Our code, where it is an operating error. */
  readonly code?: string;
  readonly [extension: string]: unknown;
}

export function problemResponse(
  { status, detail, ...rest }: Problem,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const body = { type: "about:blank", title: STATUS_CODES[status] ?? "Error", status, detail, ...rest };
  return new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/problem+json", "cache-control": "no-store", ...headers },
  });
}

/** The answer to a request that threw. Logged where it is the server's fault. */
export function errorResponse(error: unknown, request: Request, log: Log): Response {
  const known = DoorbellError.isInstance(error);
  const status = known ? errorTable[error.code].httpStatus : 500;
  if (status >= 500)
    log.error("a request failed", { method: request.method, path: new URL(request.url).pathname, error });
  if (!known) return problemResponse({ status, detail: "the request failed; the log says why" });
  return problemResponse({ status, code: error.code, detail: error.message });
}
