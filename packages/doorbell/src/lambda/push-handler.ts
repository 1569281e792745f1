// A container that exists for the length of a request: a queue pushes a doorbell, and the job runs before the answer.

import { problemResponse } from "../http/problem.ts";
import { readPush } from "../http/push.ts";
import { type VisitOptions, visit } from "./visit.ts";

export interface PushOptions extends VisitOptions {
  /** The queue sends it with each push, as a bearer token or as `?token=`. At least 32 characters. */
  readonly secret: string;
  /** A request is answered after so long, or a second later. Default 50 s: the patience of most queues and proxies. */
  readonly deadlineMs?: number;
}

/** Who pushes may come again then. */
const retryAfterS = 5;

/**
 * Answers 204 when what the doorbells name has run, or is given back to Postgres; 503 when it could not be decided in time,
 * or Postgres is away: push again. Refusals as of `readPush`. Never rejects, but for options that no worker takes.
 */
export function pushHandler({
  secret,
  deadlineMs = 50_000,
  ...options
}: PushOptions): (request: Request) => Promise<Response> {
  return async (request) => {
    const pushed = await readPush(request, secret);
    if (pushed instanceof Response) return pushed;
    const undecided = [...pushed.doorbells];
    await visit({ concurrency: 10, ...options }, deadlineMs, async (guest, { log, metrics }) => {
      if (pushed.junk > 0) metrics.doorbellsDropped("junk", pushed.junk);
      while (undecided.length > 0) {
        const free = await guest.freeSlots();
        if (free === 0) return;
        const batch = undecided.slice(0, free);
        try {
          if (!(await guest.claim(batch))) return;
        } catch (error) {
          log.warn("a push could not be claimed; it is to come again", { doorbells: undecided.length, error });
          return;
        }
        undecided.splice(0, batch.length);
      }
    });
    if (undecided.length === 0) return new Response(null, { status: 204 });
    return problemResponse(
      { status: 503, detail: `${undecided.length} doorbells could not be claimed in time: push them again` },
      { "retry-after": String(retryAfterS) },
    );
  };
}
