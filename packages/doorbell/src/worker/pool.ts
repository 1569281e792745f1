// The attempts that run in this process: how many may, which do, and when their time is up. One look at the clock for all
// of them, ten times a second, instead of a timer for each.
import { performance } from "node:perf_hooks";
import type { ClaimedJob } from "../store/ticks.ts";
import { Attempt, type StopReason } from "./attempt.ts";
import type { Handler } from "./handler.ts";

const lookEveryMs = 100;

export class Pool {
  readonly #concurrency: number;
  readonly #handlers: ReadonlyMap<string, Handler>;
  readonly #running = new Set<Attempt>();
  readonly #left = new Set<Attempt>();
  readonly #emptyWaiters = new Set<() => void>();
  #timer: NodeJS.Timeout | null = null;

  constructor(concurrency: number, handlers: readonly Handler[]) {
    this.#concurrency = concurrency;
    this.#handlers = new Map(handlers.map((handler) => [handler.definition.kind, handler]));
  }

  get running(): number {
    return this.#running.size;
  }

  /** Handlers that run on although their attempt has ended. */
  get left(): number {
    return this.#left.size;
  }

  /**
   * An attempt whose handler will not end frees its slot, once over: with as many handlers left behind as there are slots,
   * the process has leaked all that it was given, and takes no more.
   */
  get free(): number {
    return this.stuck ? 0 : this.#concurrency - this.#running.size;
  }

  get stuck(): boolean {
    return this.#left.size >= this.#concurrency;
  }

  /** Takes claimed jobs in. The claim asked for known kinds only, so each has its handler. */
  admit(claimed: readonly ClaimedJob[]): readonly Attempt[] {
    const nowMs = performance.now();
    const attempts = claimed.map((job) => {
      const attempt = new Attempt(job, this.#handlers.get(job.kind) as Handler, nowMs);
      this.#running.add(attempt);
      return attempt;
    });
    this.#timer ??= setInterval(() => this.#stopOverdue(), lookEveryMs);
    return attempts;
  }

  /** Frees the slot. */
  remove(attempt: Attempt): void {
    this.#running.delete(attempt);
    if (this.#running.size > 0) return;
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    for (const waiter of this.#emptyWaiters) waiter();
    this.#emptyWaiters.clear();
  }

  markLeft(attempt: Attempt): void {
    this.#left.add(attempt);
  }

  unmarkLeft(attempt: Attempt): void {
    this.#left.delete(attempt);
  }

  /** Stops this attempt, if it still runs. */
  stop(which: Pick<ClaimedJob, "tenant" | "id" | "attempt">, reason: StopReason): void {
    for (const attempt of this.#running) {
      const { id, tenant, attempt: number } = attempt.claimed;
      if (id === which.id && tenant === which.tenant && number === which.attempt) attempt.stop(reason);
    }
  }

  stopAll(reason: StopReason): void {
    for (const attempt of this.#running) attempt.stop(reason);
  }

  /** Resolves when nothing runs, or after so long. True: nothing runs. */
  async empty(withinMs: number): Promise<boolean> {
    if (this.#running.size === 0) return true;
    return await new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#emptyWaiters.delete(done);
        resolve(this.#running.size === 0);
      };
      const timer = setTimeout(done, withinMs);
      this.#emptyWaiters.add(done);
    });
  }

  #stopOverdue(): void {
    const nowMs = performance.now();
    for (const attempt of this.#running) if (nowMs >= attempt.deadlineAtMs) attempt.stop("timeout");
  }
}
