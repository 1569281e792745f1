// The look-out for commits that we cannot see. A job that was enqueued in the caller's own transaction may run from its
// COMMIT on, and only the caller knows when that is. So we ask Postgres what became of the transaction, from a connection
// of our own, with growing pauses, and wake the workers then. A rollback is noticed in the same way, and wakes nobody.
import type { Tx } from "../store/database.ts";
import { transactionStates } from "../store/maintenance.ts";

const pauseMinMs = 2;
const pauseMaxMs = 1_000;
/** A transaction that is still open then is left to the workers' polls. */
const giveUpMs = 3_600_000;

interface Watched {
  readonly lanes: Set<string>;
  readonly sinceMs: number;
}

export class Lookout {
  readonly #tx: Tx;
  readonly #wake: (lane: string) => void;
  readonly #watched = new Map<string, Watched>();
  #timer: NodeJS.Timeout | null = null;
  #dueAtMs = 0;
  #looking = false;
  #closed = false;

  constructor(tx: Tx, wake: (lane: string) => void) {
    this.#tx = tx;
    this.#wake = wake;
  }

  /** Wakes the lane when this transaction has committed. */
  watch(xid: string, lane: string): void {
    const known = this.#watched.get(xid);
    if (known) known.lanes.add(lane);
    else this.#watched.set(xid, { lanes: new Set([lane]), sinceMs: performance.now() });
    this.#schedule();
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#watched.clear();
  }

  /**
   * The pause is a quarter of the youngest transaction's age: a commit is seen at most a quarter later than it could be. A
   * look that is due sooner stands: transactions that come in quick succession must not put it off for ever.
   */
  #schedule(): void {
    if (this.#closed || this.#looking || this.#watched.size === 0) return;
    const nowMs = performance.now();
    if (this.#timer !== null && this.#dueAtMs <= nowMs + pauseMinMs) return;
    let youngestMs = 0;
    for (const { sinceMs } of this.#watched.values()) youngestMs = Math.max(youngestMs, sinceMs);
    const pauseMs = Math.min(pauseMaxMs, Math.max(pauseMinMs, (nowMs - youngestMs) / 4));
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#dueAtMs = nowMs + pauseMs;
    this.#timer = setTimeout(() => void this.#look(), pauseMs);
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    this.#looking = true;
    this.#timer = null;
    try {
      const states = await transactionStates(this.#tx, [...this.#watched.keys()]);
      for (const [xid, state] of states) {
        const watched = this.#watched.get(xid);
        if (!watched) continue;
        if (state === "in progress" && performance.now() - watched.sinceMs < giveUpMs) continue;
        this.#watched.delete(xid);
        if (state === "committed") for (const lane of watched.lanes) this.#wake(lane);
      }
    } catch {
      // Postgres does not answer: look again after the next pause.
    } finally {
      this.#looking = false;
      this.#schedule();
    }
  }
}
