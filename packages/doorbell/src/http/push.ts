// POST /v1/push: doorbells from a queue that pushes instead of being asked. What comes is untrusted, as from every queue: a
// doorbell decides nothing, and whatever is none is done with, for a queue would push it again for ever.
import { createHash, timingSafeEqual } from "node:crypto";
import { parseBody } from "../queue/body.ts";
import { asDoorbell } from "../queue/queue.ts";
import type { Doorbell } from "../store/ticks.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { problemResponse } from "./problem.ts";

/** What a push held. */
export interface Pushed {
  readonly doorbells: readonly Doorbell[];
  /** Messages that are no doorbells. */
  readonly junk: number;
}

/** A queue pushes one message, or a few. */
const bodyMaxBytes = 65_536;
export const pushPath = "/v1/push";

/**
 * The doorbells of a request, or the answer to one that is refused: 401 without the secret (`Authorization: Bearer`, or
 * `?token=` where a queue can only be given a URL), 405, 413.
 *
 * A body is a doorbell, an array of them, or an envelope that holds one: `{ message: { data } }` with the doorbell in base64
 * (Google Pub/Sub), `{ Type: "Notification", Message }` (SNS).
 */
export async function readPush(request: Request, secret: string): Promise<Pushed | Response> {
  if (request.method !== "POST")
    return problemResponse({ status: 405, detail: `${request.method} is not for ${pushPath}` }, { allow: "POST" });
  if (!isSecret(request, secret))
    return problemResponse(
      { status: 401, detail: "a push carries the secret, as a bearer token or as ?token=" },
      { "www-authenticate": "Bearer" },
    );
  const text = await textOf(request);
  if (text === null) return problemResponse({ status: 413, detail: `a push has at most ${bodyMaxBytes} bytes` });
  const body = parseBody(text);
  const messages = (Array.isArray(body) ? body : [body]).map(unwrapped);
  const doorbells = messages.map(asDoorbell).filter((doorbell) => doorbell !== null);
  return { doorbells, junk: messages.length - doorbells.length };
}

function isSecret(request: Request, secret: string): boolean {
  const bearer = /^Bearer +(\S+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
  const given = bearer ?? new URL(request.url).searchParams.get("token") ?? "";
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(secret));
}

/** Null: too long. Stops reading there. */
async function textOf(request: Request): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > bodyMaxBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function unwrapped(message: unknown): unknown {
  if (typeof message !== "object" || message === null) return message;
  const { message: inner, Type, Message } = message as Record<string, unknown>;
  const data = typeof inner === "object" && inner !== null ? (inner as Record<string, unknown>)["data"] : undefined;
  if (typeof data === "string") return parseBody(Buffer.from(data, "base64").toString("utf8"));
  return Type === "Notification" && typeof Message === "string" ? parseBody(Message) : message;
}

/** A process that stays: answers as soon as the claim is decided, and the job runs on. 503: no slot is free, or Postgres is away. */
export function pushRoute(
  secret: string,
  claim: (doorbells: readonly Doorbell[]) => Promise<boolean>,
  metrics: Metrics,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const pushed = await readPush(request, secret);
    if (pushed instanceof Response) return pushed;
    if (pushed.junk > 0) metrics.doorbellsDropped("junk", pushed.junk);
    if (await claim(pushed.doorbells)) return new Response(null, { status: 204 });
    return problemResponse({ status: 503, detail: "no slot is free: push it again" }, { "retry-after": "5" });
  };
}
