// What a queue must do. A driver moves doorbells and nothing else; validation, counting and metrics are in queue.ts, so
// that drivers cannot differ in them. Postgres is the record: a driver may lose, double, delay and reorder, and what that
// costs is latency until the sweeper, never work.
import type { Doorbell } from "../store/ticks.ts";

export type { Doorbell };

/** What a driver gives out: a message as it came, and the handle by which it is acknowledged. */
export interface Delivery {
  readonly body: unknown;
  readonly handle: unknown;
}

export interface ReceiveRequest {
  readonly lanes: readonly string[];
  /** At most so many deliveries. At least 1. */
  readonly max: number;
  /** Blocks for about so long when there is nothing; may return early, and empty. */
  readonly waitMs: number;
  /** Aborted: returns what it has, within about a second. */
  readonly signal: AbortSignal;
}

export interface QueueCapabilities {
  /** A worker may pop the line in its tick instead of receiving: it gets the same doorbells, a round trip earlier. */
  readonly line: boolean;
  /** Doorbells have to be sent to it, which is the ringer's work. False: it takes them out of the line itself. */
  readonly sent: boolean;
  /** Refused in production: the messages die with the process, and other processes never see them. */
  readonly inProcess: boolean;
  /**
   * What was given out and not acknowledged comes again after a while. False: it is given out once, and what becomes of a
   * doorbell whose worker died is left to the sweeper.
   */
  readonly redelivers: boolean;
}

export interface QueueDriver {
  readonly name: string;
  readonly capabilities: QueueCapabilities;
  /** Hands doorbells over. Resolves when the queue has them; rejects when that is not known. No retries inside. */
  send(lane: string, doorbells: readonly Doorbell[]): Promise<void>;
  /** Safe to call concurrently. Rejects when the queue cannot be reached. */
  receive(request: ReceiveRequest): Promise<readonly Delivery[]>;
  /** Idempotent; a handle that is stale or was acknowledged before is no error. */
  ack(deliveries: readonly Delivery[]): Promise<void>;
  /** Idempotent. Calls under way end; later ones reject. */
  close(): Promise<void>;
}
