// Whether Postgres answers, for a probe of readiness: soon, and with one query at a time, however many ask.
import { setTimeout as delay } from "node:timers/promises";
import type { Tx } from "../store/database.ts";
import { ping } from "../store/inspect.ts";

/** A probe is not made to wait for as long as a query may take. */
const answerWithinMs = 2_000;

/** Never rejects. While a query has not been answered no other is sent, and who asks waits for that one. */
export function databaseProbe(tx: Tx): () => Promise<boolean> {
  let asking: Promise<boolean> | null = null;
  const ask = async (): Promise<boolean> => {
    try {
      await ping(tx);
      return true;
    } catch {
      return false;
    } finally {
      asking = null;
    }
  };
  return async () => {
    asking ??= ask();
    const abort = new AbortController();
    const late = delay(answerWithinMs, false, { signal: abort.signal }).catch(() => false);
    const answered = await Promise.race([asking, late]);
    abort.abort();
    return answered;
  };
}
