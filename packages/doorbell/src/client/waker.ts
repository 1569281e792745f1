// Wake-ups after a commit: tells idle workers that a lane has something, at once in this process, and by NOTIFY to the
// others: at once as long as that is seldom, else with one NOTIFY for all that came within a few milliseconds. Never inside a caller's transaction: a NOTIFY there would make
// all commits of the server wait for each other. A wake-up that is lost costs one poll, never work.
import type { Tx } from "../store/database.ts";
import { notifyLanes } from "../store/maintenance.ts";

/** NOTIFY takes a lock that all notifying commits of the server share; two hundred a second from one process are enough. */
const notifyEveryMs = 5;
/** So many may go at once after a pause. */
const burst = 10;

export class Waker {
  readonly #tx: Tx;
  readonly #listeners = new Set<(lane: string) => void>();
  readonly #pending = new Set<string>();
  #timer: NodeJS.Timeout | null = null;
  /** When the next NOTIFY would be due if all came evenly. The generic cell rate algorithm, ITU-T I.371. */
  #dueAtMs = Number.NEGATIVE_INFINITY;
  #sending: Promise<void> = Promise.resolve();

  constructor(tx: Tx) {
    this.#tx = tx;
  }

  /** Called with a lane for each wake-up of this process. Returns how to stop. */
  onWake(listener: (lane: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Somebody else has told that something is in the line of this lane: tells this process. */
  heard(lane: string): void {
    for (const listener of this.#listeners) listener(lane);
  }

  /** Something is in the line of this lane, committed. */
  wake(lane: string): void {
    this.heard(lane);
    this.#pending.add(lane);
    if (this.#timer !== null) return;
    const waitMs = this.#dueAtMs - burst * notifyEveryMs - performance.now();
    if (waitMs <= 0) this.#send();
    else this.#timer = setTimeout(() => this.#send(), waitMs);
  }

  /** Resolves when what was to be told has been told. */
  async flush(): Promise<void> {
    if (this.#timer !== null) this.#send();
    await this.#sending;
  }

  #send(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#dueAtMs = Math.max(this.#dueAtMs, performance.now()) + notifyEveryMs;
    const lanes = [...this.#pending];
    this.#pending.clear();
    // A failure is not worth a word: workers poll.
    this.#sending = notifyLanes(this.#tx, lanes).catch(() => {});
  }
}
