// A worker that stays for minutes at most: it is given doorbells, runs what they name, and is gone before its host is. What
// still runs when its time is up is given back uncharged, and comes again.
import { setTimeout as sleep } from "node:timers/promises";
import type { Doorbell } from "../doorbell.ts";
import type { Doorbell as Bell } from "../store/ticks.ts";
import type { AttemptEnd } from "../worker/ends.ts";
import type { Handler } from "../worker/handler.ts";
import { createWorker, type Worker, type WorkerOptions } from "../worker/worker.ts";

export interface VisitOptions
  extends Pick<
    WorkerOptions,
    "concurrency" | "lanes" | "lease" | "transactionsMax" | "smtpUrl" | "allowPrivateWebhooks" | "secretKeys"
  > {
  /** Opened once for the process; it may still be opening. */
  readonly doorbell: Doorbell | Promise<Doorbell>;
  readonly handlers: readonly Handler[] | Promise<readonly Handler[]>;
}

/** How attempts ended, by outcome: done, failed, cancelled, retry, snooze, release, wait, lost. Outcomes that did not occur are not there. */
export type Ends = Partial<Record<AttemptEnd, number>>;

export interface Visited {
  readonly claimed: number;
  readonly ends: Ends;
}

/** Of its time: after that nothing is claimed any more, so that what was claimed last has a chance to end. */
const claimingShare = 0.8;
/** After the time is up: to give back what runs. Whoever is not answered then leaves it to its lease. */
const goodbyeMs = 1_000;

export class Visit {
  readonly lanes: readonly string[];
  /** Aborted when nothing is to be claimed any more. */
  readonly signal: AbortSignal;
  readonly #worker: Worker;
  readonly #isOver: Promise<null>;
  #claimed = 0;

  constructor(worker: Worker, signal: AbortSignal) {
    this.#worker = worker;
    this.lanes = worker.lanes;
    this.signal = signal;
    this.#isOver = new Promise((resolve) => {
      if (signal.aborted) resolve(null);
      signal.addEventListener("abort", () => resolve(null), { once: true });
    });
  }

  get claimed(): number {
    return this.#claimed;
  }

  get running(): number {
    return this.#worker.running;
  }

  /** How many more may run, once it is one at least; 0 when the time is over. */
  async freeSlots(): Promise<number> {
    if (this.signal.aborted) return 0;
    return (await Promise.race([this.#worker.freeSlots(), this.#isOver])) ?? 0;
  }

  /** True when it is decided what becomes of these doorbells, false when the time was over before. Rejects: see Worker.claim. */
  async claim(doorbells: readonly Bell[]): Promise<boolean> {
    const claimed = await Promise.race([this.#worker.claim(doorbells), this.#isOver]);
    this.#claimed += claimed ?? 0;
    return claimed !== null;
  }
}

/** Runs `claiming` with a worker of its own, waits for what it claimed, and is over after `forMs`, or a second later. */
export async function visit(
  { doorbell, handlers, ...tuning }: VisitOptions,
  forMs: number,
  claiming: (visit: Visit, doorbell: Doorbell) => Promise<void>,
): Promise<Visited> {
  const until = performance.now() + forMs;
  const opened = await doorbell;
  const ends: Ends = {};
  const worker = createWorker(opened.client, await handlers, {
    ...tuning,
    byHand: true,
    onEnd: (outcome) => {
      ends[outcome] = (ends[outcome] ?? 0) + 1;
    },
  });
  await worker.start();
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), forMs * claimingShare);
  const guest = new Visit(worker, over.signal);
  try {
    await claiming(guest, opened);
  } finally {
    clearTimeout(timer);
    const leftMs = Math.max(0, until - performance.now());
    const drained = worker.drain(leftMs);
    drained.catch(() => {});
    await Promise.race([drained, sleep(leftMs + goodbyeMs, undefined, { ref: false })]);
  }
  return { claimed: guest.claimed, ends: { ...ends } };
}
