// What the application writes: a handler for a kind of job, and what it is given.
import type { AnyJobDefinition, JobDefinition } from "../core/definition.ts";
import type { Cancel, Snooze } from "../core/outcome.ts";
import type { EmailReceipt, EmailRequest } from "../effects/email.ts";
import type { EffectOptions } from "../effects/ledger.ts";
import type { UsageOptions } from "../effects/usage.ts";
import type { WebhookReceipt, WebhookRequest } from "../effects/webhook.ts";
import type { Tx } from "../store/database.ts";
import type { Log } from "../telemetry/log.ts";

/** One attempt of a job, as its handler sees it. */
export interface Job<Payload> {
  readonly id: string;
  readonly tenant: string;
  readonly kind: string;
  /** 1 for the first; only ever grows, also over replays. */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly payload: Payload;
  readonly objectKey: string | null;
  /**
   * Aborted when this attempt must stop: its time is up, its lease is lost, or the process ends. From then on nothing that
   * it does is recorded, and no effect begins.
   */
  readonly signal: AbortSignal;
  /** Lines of this job, on standard output and kept with it. Carries the stage that is open, if it is just one. */
  readonly log: Log;
  /** A named part of the work: timed, logged. Stages may run side by side; each is then given a log of its own. */
  stage<T>(name: string, fn: (log: Log) => Promise<T> | T): Promise<T>;
  /** The input's bytes, read from the object store and proven to be those that were enqueued. Permanent failure if they are not. */
  object(): Promise<Uint8Array>;
  /** A transaction on the application's login, clamped to the job's tenant. Hold it briefly. */
  transaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T>;
  /** Ends the job as done, in the handler's own transaction: both are there, or neither. Throws lease_lost. Once. */
  complete(tx: Tx, result?: unknown): Promise<void>;
  /** A side effect, at most once as far as anyone can know. See EffectOptions. */
  effect<T>(key: string, options: EffectOptions<T>): Promise<T>;
  webhook(request: WebhookRequest): Promise<WebhookReceipt>;
  email(request: EmailRequest): Promise<EmailReceipt>;
  /** Adds to a counter of the tenant's, exactly once per job and key. Whole amounts, 0 or more. */
  usage(meter: string, amount: number, options?: UsageOptions): Promise<void>;
}

/** A result (JSON, at most 64 KB), nothing, or an outcome: snooze(…), cancel(…). A throw is a failure, and is retried by policy. */
export type HandlerFn<Payload> = (job: Job<Payload>) => Promise<unknown | Snooze | Cancel> | unknown;

export interface Handler {
  readonly definition: AnyJobDefinition;
  readonly run: HandlerFn<never>;
}

/** Joins a definition and what handles it. */
export function handle<In, Out>(definition: JobDefinition<In, Out>, run: HandlerFn<Out>): Handler {
  return { definition, run: run as HandlerFn<never> };
}
