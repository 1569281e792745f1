// Receives doorbells from a queue that is not the line itself, as many as there are free slots, and acknowledges them as
// soon as the claim is decided. A queue that is away is tried again with growing pauses; the sweeper covers for it.
import type { Queue } from "../queue/queue.ts";
import type { Log } from "../telemetry/log.ts";
import type { Ticker } from "./ticker.ts";

export interface ReceiverOptions {
  readonly queue: Queue;
  readonly lanes: readonly string[];
  readonly freeSlots: () => number;
  readonly ticker: Ticker;
  /** What was received has been claimed: there may be room for more in the queue. */
  readonly onClaimed: () => void;
  /** There are free slots, and the queue, which had something before, has nothing: told once, and again a little later. */
  readonly onEmpty: () => void;
  readonly log: Log;
}

const batchMax = 100;
const waitMs = 1_000;
/** At the first, what was sent last is not old enough to count as lost; at the third it is (sql/functions/11_sweep.sql). */
const tellsAtLooks: readonly number[] = [1, 3];
const fullPauseMs = 20;
const retryMaxMs = 5_000;

export class Receiver {
  readonly #options: ReceiverOptions;
  readonly #abort = new AbortController();
  #running: Promise<void> | null = null;
  #trouble: string | null = null;
  /** In a row, that waited for a while and found nothing. */
  #emptyLooks = 0;

  constructor(options: ReceiverOptions) {
    this.#options = options;
  }

  /** Why nothing is received; null while it works. */
  get trouble(): string | null {
    return this.#trouble;
  }

  /** The last look waited for a while, and found nothing. */
  get empty(): boolean {
    return this.#emptyLooks > 0;
  }

  start(): void {
    this.#running ??= this.#loop();
  }

  /** Resolves when no receive is under way any more. */
  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#running;
  }

  async #loop(): Promise<void> {
    const { queue, lanes, freeSlots, ticker, onClaimed, onEmpty, log } = this.#options;
    const { signal } = this.#abort;
    for (let failures = 0; !signal.aborted; ) {
      const max = Math.min(batchMax, freeSlots());
      if (max <= 0) {
        await pause(fullPauseMs, signal);
        continue;
      }
      try {
        const askedAtMs = performance.now();
        const received = await queue.receive({ lanes, max, waitMs, signal });
        if (received.doorbells.length > 0) {
          this.#emptyLooks = 0;
          await ticker.claim(received.doorbells);
          onClaimed();
        } else if (performance.now() - askedAtMs > waitMs / 2) {
          this.#emptyLooks += 1;
          if (tellsAtLooks.includes(this.#emptyLooks)) onEmpty();
        }
        await received.ack();
        if (failures > 0) log.info("the queue is heard again", { queue: queue.name });
        failures = 0;
        this.#trouble = null;
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        this.#emptyLooks = 0;
        this.#trouble = error instanceof Error ? error.message : String(error);
        if (failures === 1) log.warn("nothing could be received; it is tried again", { queue: queue.name, error });
        await pause(Math.min(retryMaxMs, 100 * 2 ** Math.min(failures, 10)), signal);
      }
    }
  }
}

/** Ends early when the signal is aborted. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end, { once: true });
  });
}
