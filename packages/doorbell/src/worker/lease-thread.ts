// The lease keeper's thread. It has an event loop and a connection of its own, so that a handler which blocks the worker's
// loop does not lose its lease. A handler that is past its deadline does: its lease is not renewed any more.
import { parentPort, workerData } from "node:worker_threads";
import type pg from "pg";
import { Database } from "../store/database.ts";
import type { Fence } from "../store/ledger.ts";
import { extend } from "../store/ticks.ts";

/** Jobs that were claimed; each with the longest it may run from now on. */
interface AddMessage {
  readonly add: {
    readonly tenants: readonly string[];
    readonly ids: readonly string[];
    readonly attempts: readonly number[];
    readonly timeoutsMs: readonly number[];
  };
}
interface RemoveMessage {
  readonly remove: readonly string[];
}
export type KeeperMessage = AddMessage | RemoveMessage;
/** What the thread tells: leases that have passed on, and whether Postgres answers. */
export type KeeperReport = { readonly lost: readonly LostLease[] } | { readonly answers: boolean };

export interface LostLease {
  readonly id: string;
  readonly attempt: number;
}

export interface KeeperSettings {
  readonly databaseUrl: string;
  readonly worker: string;
  readonly leaseMs: number;
}

interface Kept {
  readonly fence: Fence;
  readonly deadlineAtMs: number;
  renewedAtMs: number;
}

const batchMax = 1_000;
/** Long enough for the worker to say itself that the attempt has timed out. */
const deadlineGraceMs = 1_000;

const port = parentPort;
if (port !== null) {
  const settings = workerData as KeeperSettings;
  const database = new Database({
    url: settings.databaseUrl,
    max: 1,
    name: "doorbell lease keeper",
    answerWithinMs: settings.leaseMs,
  });
  const kept = new Map<string, Kept>();
  const renewAfterMs = settings.leaseMs / 3;
  let client: pg.Client | null = null;
  let renewing = false;

  const renew = async (): Promise<void> => {
    const nowMs = performance.now();
    const due = [...kept.values()].filter((one) => nowMs - one.renewedAtMs >= renewAfterMs && nowMs < one.deadlineAtMs);
    for (let start = 0; start < due.length; start += batchMax) {
      const batch = due.slice(start, start + batchMax);
      client ??= await database.connect();
      const held = await extend(
        client,
        batch.map((one) => one.fence),
        settings.leaseMs,
      );
      const renewedAtMs = performance.now();
      const lost: LostLease[] = [];
      for (const one of batch) {
        if (held.has(one.fence.id)) one.renewedAtMs = renewedAtMs;
        else if (kept.get(one.fence.id) === one) {
          kept.delete(one.fence.id);
          lost.push({ id: one.fence.id, attempt: one.fence.attempt });
        }
      }
      if (lost.length > 0) port.postMessage({ lost } satisfies KeeperReport);
    }
    if (due.length > 0) port.postMessage({ answers: true } satisfies KeeperReport);
  };

  // Looks four times in the time after which a lease is due, so that it is renewed with room for a failed try or two.
  setInterval(() => {
    if (renewing) return;
    renewing = true;
    renew()
      .catch(() => {
        void client?.end().catch(() => {});
        client = null;
        port.postMessage({ answers: false } satisfies KeeperReport);
      })
      .finally(() => {
        renewing = false;
      });
  }, renewAfterMs / 4);

  port.on("message", (message: KeeperMessage) => {
    if ("add" in message) {
      const nowMs = performance.now();
      const { tenants, ids, attempts, timeoutsMs } = message.add;
      ids.forEach((id, index) => {
        const fence = {
          worker: settings.worker,
          tenant: tenants[index] as string,
          id,
          attempt: attempts[index] as number,
        };
        kept.set(id, {
          fence,
          deadlineAtMs: nowMs + (timeoutsMs[index] as number) + deadlineGraceMs,
          renewedAtMs: nowMs,
        });
      });
    } else {
      for (const id of message.remove) kept.delete(id);
    }
  });
}
