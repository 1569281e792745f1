// How much a worker does at once, and how long it waits: what may be set, what it is by default, what is refused.
import { type Duration, toMs } from "../core/duration.ts";
import { DoorbellError } from "../core/errors.ts";
import type { Handler } from "./handler.ts";

export interface WorkerTuning {
  /** How many handlers may run at once, 1 to 10,000. Default 20. */
  readonly concurrency?: number;
  /** Lanes to serve. Default: those of the handlers' kinds. */
  readonly lanes?: readonly string[];
  /** How long a claim lasts without being renewed; renewed at a third of it. Default 30 s, at least 1 s. */
  readonly lease?: Duration;
  /** How long `drain` lets handlers finish. Default 30 s. */
  readonly grace?: Duration;
  /** A look at the line without a wake-up. Default 1 s; 100 ms while LISTEN does not work. */
  readonly poll?: Duration;
  /** Connections for `job.transaction`. Default: concurrency, at most 20. */
  readonly transactionsMax?: number;
}

export interface ResolvedTuning {
  readonly concurrency: number;
  readonly lanes: readonly string[];
  readonly leaseMs: number;
  readonly graceMs: number;
  readonly pollMs: number;
  readonly transactionsMax: number;
}

const concurrencyMax = 10_000;
const leaseMinMs = 1_000;
const transactionsDefaultMax = 20;

/** Throws option_invalid; also for handlers that cannot be served: none at all, or two of one kind. */
export function resolveTuning(handlers: readonly Handler[], options: WorkerTuning): ResolvedTuning {
  const kinds = handlers.map((handler) => handler.definition.kind);
  if (kinds.length === 0) throw refused("a worker needs a handler");
  const twice = kinds.find((kind, index) => kinds.indexOf(kind) !== index);
  if (twice !== undefined) throw refused(`job kind ${twice} has two handlers`);
  const { concurrency = 20 } = options;
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > concurrencyMax) {
    throw refused(`concurrency ${concurrency} is not a whole number from 1 to ${concurrencyMax}`);
  }
  const leaseMs = toMs(options.lease ?? "30s", "lease");
  if (leaseMs < leaseMinMs) throw refused(`lease ${leaseMs} ms is shorter than 1 s`);
  return {
    concurrency,
    lanes: options.lanes ?? [...new Set(handlers.map((handler) => handler.definition.lane))],
    leaseMs,
    graceMs: toMs(options.grace ?? "30s", "grace"),
    pollMs: toMs(options.poll ?? "1s", "poll"),
    transactionsMax: options.transactionsMax ?? Math.min(transactionsDefaultMax, concurrency),
  };
}

const refused = (message: string): DoorbellError => new DoorbellError("option_invalid", message);
