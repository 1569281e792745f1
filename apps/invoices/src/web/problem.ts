// Errors as application/problem+json (RFC 9457): what a caller can act upon, and nothing of what is inside.
import { STATUS_CODES } from "node:http";
import { DoorbellError, type Log } from "doorbell-jobs";
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";

/** Thrown anywhere below a request; becomes its answer. */
export class Problem extends Error {
  readonly status: ContentfulStatusCode;
  /** Stable, for programs. */
  readonly code: string;

  constructor(status: ContentfulStatusCode, code: string, detail: string) {
    super(detail);
    this.name = "Problem";
    this.status = status;
    this.code = code;
  }
}

/** The answer for whatever was thrown. What nobody foresaw is logged, and the caller is told nothing about it. */
export function problemResponse(c: Context, error: unknown, log: Log): Response {
  const { status, code, message: detail } = asProblem(error);
  if (status >= 500) log.error("a request failed", { method: c.req.method, path: c.req.path, error });
  if (status === 401) c.header("www-authenticate", "Bearer");
  c.header("content-type", "application/problem+json");
  c.header("cache-control", "no-store");
  return c.body(
    JSON.stringify({ type: "about:blank", title: STATUS_CODES[status] ?? "Error", status, code, detail }),
    status,
  );
}

function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (!isTrouble(error)) return new Problem(500, "internal", "The request failed.");
  return new Problem(503, "unavailable", "Not at the moment. Try again: the same upload is the same document.");
}

/** Postgres or the object store does not answer, or asks to be asked again. */
function isTrouble(error: unknown): boolean {
  if (DoorbellError.isInstance(error)) return error.traits.retryable;
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  if (typeof code === "string") return /^(08|53|57P|40|ECONN|EPIPE|ETIMEDOUT)/.test(code);
  return typeof message === "string" && /timeout|Connection terminated/i.test(message);
}
