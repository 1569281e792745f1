// What the application writes: a handler for a kind of job, and what it is given.
import type { EnqueueOptions } from "../client/request.ts";
import type { AnyJobDefinition, JobDefinition } from "../core/definition.ts";
import type { Duration } from "../core/duration.ts";
import type { Cancel, Snooze } from "../core/outcome.ts";
import type { EmailReceipt, EmailRequest } from "../effects/email.ts";
import type { EffectOptions } from "../effects/ledger.ts";
import type { UsageOptions } from "../effects/usage.ts";
import type { WebhookEvent, WebhookReceipt, WebhookRequest } from "../effects/webhook.ts";
import type { EndpointReceipt } from "../effects/webhooks/fan-out.ts";
import type { Tx } from "../store/database.ts";
import type { Log } from "../telemetry/log.ts";
import type { ChildOutcome } from "./child-failed.ts";

export interface WaitOptions {
  /** The step's key. Default: the event's name. Give one where a run waits for the same event more than once. */
  readonly key?: string;
  /** After so long from the first time the run came here it is over. Default: never. A sweep finds it, some seconds late. */
  readonly timeout?: Duration;
}

export interface ReceivedEvent {
  readonly event: string;
  /** As it was emitted; null for none. */
  readonly payload: unknown;
  /** On the database's clock. Null: the event itself has been removed since. */
  readonly emittedAt: Date | null;
}

/** As for enqueue. A child is of its parent's tenant, and its id is made of the parent's and the key. */
export type ChildOptions = Omit<EnqueueOptions, "tenant" | "id" | "idempotencyKey" | "traceparent">;

export interface SpawnPolicy<Policy extends "throw" | "collect" = "throw" | "collect"> {
  /** The step's key. Default: the child's kind; "children" for spawnAll. */
  readonly key?: string;
  /**
   * When a child is a dead letter, cancelled or discarded: "throw" (default) throws ChildFailed once all have settled;
   * "collect" gives what became of each.
   */
  readonly onChildFailure?: Policy;
}

export interface SpawnOptions extends ChildOptions {}

export interface SpawnChild extends ChildOptions {
  readonly job: AnyJobDefinition;
  readonly payload?: unknown;
  /**
   * Tells it from its siblings, also in a replay, where a child of the same name is the same job. Default: its place in the
   * list, from 1.
   */
  readonly name?: string;
}

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
  /**
   * Without a URL: to every endpoint of the tenant that wants this event, each an effect of its own. Throws when all have
   * been tried and some have not taken it; a later attempt sends to those alone. See docs/webhooks.md.
   */
  webhook(request: WebhookEvent): Promise<readonly EndpointReceipt[]>;
  email(request: EmailRequest): Promise<EmailReceipt>;
  /** Adds to a counter of the tenant's, exactly once per job and key. Whole amounts, 0 or more. */
  usage(meter: string, amount: number, options?: UsageOptions): Promise<void>;
  /**
   * A value that is computed once in a run: stored as JSON (at most 64 KB), and what later attempts get without calling fn.
   * What the handler is given is always what was stored. A replay is a new run, and computes it anew. It is no effect: fn may
   * run again if its attempt dies before the value is stored. Throws step_conflict for a key that this attempt has used.
   */
  step<T>(key: string, fn: () => Promise<T> | T): Promise<T>;
  /**
   * Goes on so long after the run came here first. Until then the job has no slot, no connection and no lease: the attempt
   * ends here, uncharged, by an error that the handler must let pass, and the handler begins again from its beginning. Its
   * steps and effects are skipped then; what stands between them runs again.
   */
  sleep(key: string, duration: Duration): Promise<void>;
  /**
   * The oldest event of this name that the tenant's `emit` has told since the job was created, and that this run has not
   * been given; null when none came in time. Waits as sleep does.
   */
  waitFor(event: string, options?: WaitOptions): Promise<ReceivedEvent | null>;
  /**
   * Enqueues a job of the same tenant, once for this key over all attempts and replays, and waits as sleep does until it has
   * settled. Its result; throws ChildFailed when there is none.
   */
  spawn<In, Out>(
    job: JobDefinition<In, Out>,
    payload: In,
    options?: SpawnOptions & SpawnPolicy<"throw">,
  ): Promise<unknown>;
  /** The same; what became of it, whatever that is. */
  spawn<In, Out>(
    job: JobDefinition<In, Out>,
    payload: In,
    options: SpawnOptions & SpawnPolicy<"collect">,
  ): Promise<ChildOutcome>;
  /** The same for up to 10,000 children, enqueued in one statement. Their results in order, when all have settled. */
  spawnAll(children: readonly SpawnChild[], options?: SpawnPolicy<"throw">): Promise<readonly unknown[]>;
  /** The same; what became of each, in order. */
  spawnAll(children: readonly SpawnChild[], options: SpawnPolicy<"collect">): Promise<readonly ChildOutcome[]>;
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
