// The conversation with Postgres: settlements go out and claims come in, in the same round trips. Receiver and settler are
// one part, because they share a statement. Two connections; whatever came while both were busy goes together in the next
// tick, so batches are as large as the load makes them, and a lone job waits for nothing. Full batches may take two more:
// they gain nothing by waiting.
import type pg from "pg";
import { describeFailure, failureText } from "../core/failure.ts";
import { type Database, isDatabaseTrouble, isValueRefused } from "../store/database.ts";
import {
  type ClaimedJob,
  type OpenedBreaker,
  type Settlement,
  type TickAnswer,
  type TickRequest,
  tick,
} from "../store/ticks.ts";
import type { Log } from "../telemetry/log.ts";

export interface TickerOptions {
  readonly database: Database;
  readonly worker: string;
  readonly kinds: readonly string[];
  readonly leaseMs: number;
  /** Lanes to pop from; null where doorbells come through a queue of another kind. */
  readonly lanes: readonly string[] | null;
  readonly freeSlots: () => number;
  readonly onClaimed: (jobs: readonly ClaimedJob[]) => void;
  readonly onDropped: (dropped: TickAnswer["dropped"]) => void;
  readonly onOpened: (breaker: OpenedBreaker) => void;
  readonly log: Log;
}

export type Settled = "settled" | "lost";

/** `written` is the outcome as it went out: a failure in place of one that Postgres refused. */
export type OnSettled = (settled: Settled, written: Settlement) => void;

interface Pending {
  readonly settlement: Settlement;
  readonly onSettled: OnSettled;
  /** It was in a batch that was refused: it goes in a tick of its own, which claims nothing. */
  readonly alone?: true;
}

/** Beyond it a batch gains nothing, and the first of it waits for the last. */
const batchMax = 500;
const connectionsMax = 2;
const connectionsMaxWhenFull = 4;
const retryMinMs = 100;
const retryMaxMs = 5_000;

export class Ticker {
  readonly #options: TickerOptions;
  readonly #idleClients: pg.Client[] = [];
  #pending: Pending[] = [];
  #inFlight = 0;
  /** Slots that ticks under way have asked for. */
  #asked = 0;
  readonly #claims = new Set<Promise<void>>();
  #claiming = false;
  #closed = false;
  /** The line had less than was asked for, and nobody has called since. */
  #dry = false;
  #wakes = 0;
  #scheduled = false;
  #failures = 0;
  #retryTimer: NodeJS.Timeout | null = null;
  #laneTurn = 0;
  #answeredAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: TickerOptions) {
    this.#options = options;
  }

  /** When Postgres last answered a tick, on the monotonic clock. */
  get answeredAtMs(): number {
    return this.#answeredAtMs;
  }

  /** The line had less than was asked for, and nobody has called since. */
  get dry(): boolean {
    return this.#dry;
  }

  startClaiming(): void {
    this.#claiming = true;
    this.wake();
  }

  /** Resolves when no claim is under way any more: what had been claimed has been told then. */
  async stopClaiming(): Promise<void> {
    this.#claiming = false;
    await Promise.all(this.#claims);
  }

  /** Something may be in the line, or a slot has become free. */
  wake(): void {
    this.#wakes += 1;
    this.#dry = false;
    this.#pumpSoon();
  }

  /** A slot has become free: ask for more, unless the line was dry. */
  slotFreed(): void {
    this.#pumpSoon();
  }

  /** Calls back when the outcome is committed, or was refused because the lease had passed on. Waits out a database that is gone. */
  settle(settlement: Settlement, onSettled: OnSettled): void {
    this.#pending.push({ settlement, onSettled });
    this.#pumpSoon();
  }

  /** Claims what doorbells of another queue name. Rejects when Postgres does not answer: then do not acknowledge them. */
  async claim(doorbells: readonly { readonly job_id: string; readonly tenant_id: string }[]): Promise<void> {
    await this.#tick({ doorbells }, 0);
  }

  /** Ends the connections. What is still pending then is left to its lease. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#claiming = false;
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    await Promise.all(this.#idleClients.splice(0).map((client) => client.end().catch(() => {})));
  }

  /** Once a turn of the event loop: what ends together, and what was freed by it, goes together. */
  #pumpSoon(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#pump();
    });
  }

  #pump(): void {
    while (!this.#closed && this.#retryTimer === null) {
      const wanted = this.#pending[0]?.alone ? 0 : this.#wanted();
      if (this.#pending.length === 0 && (wanted === 0 || this.#dry)) return;
      const isFull = this.#pending.length >= batchMax || (wanted === batchMax && !this.#dry);
      if (this.#inFlight >= (isFull ? connectionsMaxWhenFull : connectionsMax)) return;
      const lanes = this.#options.lanes ?? [];
      const ticked = this.#tick({ lanes: this.#rotated(lanes), max: wanted }, wanted).catch(() => {});
      if (wanted === 0) continue;
      this.#claims.add(ticked);
      void ticked.then(() => this.#claims.delete(ticked));
    }
  }

  #takeBatch(): readonly Pending[] {
    const firstAlone = this.#pending.findIndex((one) => one.alone);
    return this.#pending.splice(0, firstAlone === -1 ? batchMax : Math.min(batchMax, Math.max(1, firstAlone)));
  }

  #wanted(): number {
    if (!this.#claiming || this.#options.lanes === null) return 0;
    return Math.max(0, Math.min(batchMax, this.#options.freeSlots() - this.#asked));
  }

  /** Each tick begins with another lane, so that none is always served last. */
  #rotated(lanes: readonly string[]): readonly string[] {
    if (lanes.length < 2) return lanes;
    this.#laneTurn = (this.#laneTurn + 1) % lanes.length;
    return [...lanes.slice(this.#laneTurn), ...lanes.slice(0, this.#laneTurn)];
  }

  async #tick(from: TickRequest["from"], asked: number): Promise<void> {
    const batch = "doorbells" in from && this.#pending[0]?.alone ? [] : this.#takeBatch();
    this.#inFlight += 1;
    this.#asked += asked;
    const wakes = this.#wakes;
    let client: pg.Client | undefined;
    try {
      client = this.#idleClients.pop() ?? (await this.#options.database.connect());
      const answer = await tick(client, {
        worker: this.#options.worker,
        kinds: this.#options.kinds,
        leaseMs: this.#options.leaseMs,
        settlements: batch.map((one) => one.settlement),
        from,
      });
      this.#answered(batch, answer, client);
      this.#asked -= asked;
      const dropped = answer.dropped.stale + answer.dropped.unhandled + answer.held;
      // A wake-up that came meanwhile may be about a doorbell that this tick was too early for.
      if (asked > 0 && answer.claimed.length + dropped < asked && this.#wakes === wakes) this.#dry = true;
    } catch (error) {
      this.#asked -= asked;
      this.#failed(batch, error, client);
      throw error;
    } finally {
      this.#inFlight -= 1;
      this.#pumpSoon();
    }
  }

  #answered(batch: readonly Pending[], answer: TickAnswer, client: pg.Client): void {
    if (this.#closed) void client.end().catch(() => {});
    else this.#idleClients.push(client);
    this.#failures = 0;
    this.#answeredAtMs = performance.now();
    const isLost = ({ tenant, id, attempt }: Settlement): boolean =>
      answer.lost.some((lost) => lost.id === id && lost.tenant === tenant && lost.attempt === attempt);
    for (const { settlement, onSettled } of batch) onSettled(isLost(settlement) ? "lost" : "settled", settlement);
    if (answer.claimed.length > 0) this.#options.onClaimed(answer.claimed);
    for (const breaker of answer.opened) this.#options.onOpened(breaker);
    const { stale, unhandled, missed } = answer.dropped;
    if (stale + unhandled + missed > 0) this.#options.onDropped(answer.dropped);
  }

  /**
   * The tick may or may not have been committed. Its settlements are sent again: the fence makes that harmless, and those
   * that had been written come back as lost. Jobs that it claimed and could not tell us of are left to their leases. Where
   * a value was refused, each goes alone from then on, and the one that is to blame ends as a failure that says so.
   */
  #failed(batch: readonly Pending[], error: unknown, client: pg.Client | undefined): void {
    void client?.end().catch(() => {});
    const isRefused = isValueRefused(error);
    this.#pending.unshift(...(isRefused ? batch.map((one) => refused(one, error)) : batch));
    this.#failures += 1;
    const pauseMs = Math.min(retryMaxMs, retryMinMs * 2 ** Math.min(this.#failures - 1, 10));
    const level = isDatabaseTrouble(error) ? "warn" : "error";
    this.#options.log[level]("a tick failed; it is tried again", {
      error,
      settlements: batch.length,
      pause_ms: pauseMs,
    });
    this.#retryTimer ??= setTimeout(() => {
      this.#retryTimer = null;
      this.#pump();
    }, pauseMs);
  }
}

/** After a batch in which a value was refused: the one that had gone alone is to blame, others are told apart first. */
function refused(one: Pending, error: unknown): Pending {
  if (one.alone === undefined) return { ...one, alone: true };
  const { tenant, id, attempt } = one.settlement;
  const why = `postgres refused what the attempt ended with: ${failureText(describeFailure(error))}`;
  return { ...one, settlement: { tenant, id, attempt, outcome: "failed", error: why, code: "outcome_refused" } };
}
