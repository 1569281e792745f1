// The lease keeper's thread. It has an event loop and a connection of its own, so that a handler which blocks the worker's
// loop does not lose its lease. A handler that is past its deadline does: its lease is not renewed any more.
import { parentPort, workerData } from "node:worker_threads";
import type pg from "pg";
import { Database } from "../store/database.ts";
import type { Fence } from "../store/ledger.ts";
import { extend } from "../store/ticks.ts";

/** A claim, and the longest its attempt may run from now on. */
export type KeptClaim = readonly [tenant: string, id: string, attempt: number, timeoutMs: number];

/** Claims that came together (KeptClaim[] as JSON); and that all of a batch have ended. */
export type KeeperMessage = { readonly batch: number; readonly claims: string } | { readonly ended: number };
/** What the thread tells: leases that have passed on, and whether Postgres answers. */
export type KeeperReport = { readonly lost: readonly LostLease[] } | { readonly answers: boolean };

export type LostLease = Pick<Fence, "tenant" | "id" | "attempt">;

export interface KeeperSettings {
  readonly databaseUrl: string;
  readonly worker: string;
  readonly leaseMs: number;
}

/** Which of its claims have ended meanwhile is found out when it is renewed: they come back as not held. */
class Batch {
  readonly #addedAtMs: number;
  #renewedAtMs: number;
  #claims: readonly KeptClaim[] | string;

  constructor(claims: string, nowMs: number) {
    this.#claims = claims;
    this.#addedAtMs = nowMs;
    this.#renewedAtMs = nowMs;
  }

  get renewedAtMs(): number {
    return this.#renewedAtMs;
  }

  /** How many of its claims may still be held. */
  get size(): number {
    return this.#read().length;
  }

  /** None of its claims is held any more; found out when it was renewed. */
  get hasEnded(): boolean {
    return typeof this.#claims !== "string" && this.#claims.length === 0;
  }

  /** Of those that are left, the fences of those whose time is not up. */
  within(worker: string, nowMs: number): readonly Fence[] {
    return this.#read()
      .filter(([, , , timeoutMs]) => nowMs < this.#addedAtMs + timeoutMs + deadlineGraceMs)
      .map(([tenant, id, attempt]) => ({ worker, tenant, id, attempt }));
  }

  renewed(isHeld: (fence: Pick<Fence, "tenant" | "id">) => boolean, nowMs: number): void {
    this.#claims = this.#read().filter(([tenant, id]) => isHeld({ tenant, id }));
    this.#renewedAtMs = nowMs;
  }

  #read(): readonly KeptClaim[] {
    if (typeof this.#claims === "string") this.#claims = JSON.parse(this.#claims) as readonly KeptClaim[];
    return this.#claims;
  }
}

/** Leases that one statement renews, about. */
const fencesMax = 1_000;

/** Batches that are renewed together: at light load each is of one claim. */
function groupsOf(batches: readonly Batch[]): readonly (readonly Batch[])[] {
  const groups: Batch[][] = [];
  let size = fencesMax;
  for (const batch of batches) {
    if (size + batch.size > fencesMax) {
      groups.push([]);
      size = 0;
    }
    groups.at(-1)?.push(batch);
    size += batch.size;
  }
  return groups;
}

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
  const batches = new Map<number, Batch>();
  const renewAfterMs = settings.leaseMs / 3;
  let client: pg.Client | null = null;
  let renewing = false;

  const renew = async (): Promise<void> => {
    const nowMs = performance.now();
    const due = [...batches.values()].filter((batch) => nowMs - batch.renewedAtMs >= renewAfterMs);
    for (const together of groupsOf(due)) {
      const fences = together.flatMap((batch) => batch.within(settings.worker, nowMs));
      client ??= await database.connect();
      const isHeld = await extend(client, fences, settings.leaseMs);
      for (const batch of together) batch.renewed(isHeld, performance.now());
      // Most of these have simply ended; the worker knows which of them still run.
      const lost = fences.filter((fence) => !isHeld(fence));
      if (lost.length > 0) port.postMessage({ lost } satisfies KeeperReport);
    }
    for (const [number, batch] of batches) if (batch.hasEnded) batches.delete(number);
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
    if ("ended" in message) batches.delete(message.ended);
    else batches.set(message.batch, new Batch(message.claims, performance.now()));
  });
}
