// What a handler is given, made lazily: a handler that looks at nothing costs nothing.
import type { AnyJobDefinition } from "../core/definition.ts";
import type { Duration } from "../core/duration.ts";
import { DoorbellError } from "../core/errors.ts";
import { toStorableJson } from "../core/json.ts";
import { type EmailReceipt, type EmailRequest, performEmail } from "../effects/email.ts";
import type { EffectAttempt, EffectOptions, Ledger } from "../effects/ledger.ts";
import { countUsage, type UsageOptions } from "../effects/usage.ts";
import { performWebhook, type WebhookEvent, type WebhookReceipt, type WebhookRequest } from "../effects/webhook.ts";
import type { WebhookSettings } from "../effects/webhooks/effect.ts";
import type { EndpointReceipt } from "../effects/webhooks/fan-out.ts";
import type { Bucket } from "../objects/bucket.ts";
import type { Database, Tx } from "../store/database.ts";
import type { Fence } from "../store/ledger.ts";
import { clamp, type Tenancy } from "../store/tenancy.ts";
import { settleOne } from "../store/ticks.ts";
import { type JobLog, type JobLogSink, jobLog, type Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { Attempt } from "./attempt.ts";
import type { ChildOutcome } from "./child-failed.ts";
import type { Job, ReceivedEvent, SpawnChild, SpawnOptions, SpawnPolicy, WaitOptions } from "./handler.ts";
import { resultsOf, type StepAttempt, type Steps } from "./steps.ts";
import type { WorkerWatch } from "./watch.ts";

/** What attempts of one worker share. */
export interface JobDeps {
  readonly worker: string;
  readonly ledger: Ledger;
  readonly steps: Steps;
  readonly objects: Bucket;
  /** The application's login: `job.transaction`. */
  readonly database: Database;
  readonly tenancy: Tenancy;
  readonly valueMaxBytes: number;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly logSink: (attempt: Attempt) => JobLogSink;
  readonly webhooks: WebhookSettings;
  readonly smtpUrl: string | null;
  readonly watch: WorkerWatch | null;
}

export class JobContext implements Job<unknown> {
  readonly payload: unknown;
  readonly #attempt: Attempt;
  readonly #deps: JobDeps;
  #openStages: JobLog[] | null = null;
  #jobLog: JobLog | null = null;
  #effects: EffectAttempt | null = null;
  #steps: StepAttempt | null = null;

  constructor(attempt: Attempt, payload: unknown, deps: JobDeps) {
    this.#attempt = attempt;
    this.#deps = deps;
    this.payload = payload;
  }

  get id(): string {
    return this.#attempt.claimed.id;
  }
  get tenant(): string {
    return this.#attempt.claimed.tenant;
  }
  get kind(): string {
    return this.#attempt.claimed.kind;
  }
  get attempt(): number {
    return this.#attempt.claimed.attempt;
  }
  get maxAttempts(): number {
    return this.#attempt.claimed.maxAttempts;
  }
  get objectKey(): string | null {
    return this.#attempt.claimed.objectKey;
  }
  get signal(): AbortSignal {
    return this.#attempt.signal;
  }

  get log(): Log {
    const [stage, ...others] = this.#openStages ?? [];
    return stage !== undefined && others.length === 0 ? stage : this.#rootLog;
  }

  get #rootLog(): JobLog {
    this.#jobLog ??= jobLog(
      this.#deps.log,
      { tenant_id: this.tenant, job_id: this.id, kind: this.kind, attempt: this.attempt, object_key: this.objectKey },
      this.#deps.logSink(this.#attempt),
    );
    return this.#jobLog;
  }

  async stage<T>(name: string, fn: (log: Log) => Promise<T> | T): Promise<T> {
    this.#requireRunning(`stage "${name}"`);
    const log = this.#rootLog.withStage(name);
    const startedAtMs = performance.now();
    const tookMs = (): number => Math.round(performance.now() - startedAtMs);
    this.#openStages ??= [];
    const open = this.#openStages;
    open.push(log);
    try {
      const value = await fn(log);
      log.info(`stage ${name} done`, { took_ms: tookMs() });
      return value;
    } catch (error) {
      log.warn(`stage ${name} failed`, { took_ms: tookMs(), error });
      throw error;
    } finally {
      open.splice(open.indexOf(log), 1);
      this.#deps.metrics.stageTook(this.kind, name, tookMs() / 1_000);
    }
  }

  async object(): Promise<Uint8Array> {
    const { objectKey, objectSha256, objectSize } = this.#attempt.claimed;
    if (objectKey === null)
      throw new DoorbellError(
        "object_missing",
        `job ${this.id} of tenant ${this.tenant} was enqueued without an object`,
      );
    const expect =
      objectSha256 === null || objectSize === null ? undefined : { sha256: objectSha256, size: objectSize };
    return await this.#deps.objects.get(this.tenant, objectKey, expect && { expect });
  }

  async transaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    this.#requireRunning("a transaction");
    return await this.#deps.database.transaction(async (tx) => {
      await clamp(tx, this.tenant, this.#deps.tenancy);
      return await fn(tx);
    });
  }

  async complete(tx: Tx, result?: unknown): Promise<void> {
    this.#requireRunning("its completion");
    const { valueMaxBytes, worker } = this.#deps;
    const text = result === undefined ? null : toStorableJson(result, { path: "result", maxBytes: valueMaxBytes }).text;
    const { tenant, id, attempt } = this.#attempt.claimed;
    if (this.#deps.watch !== null) await this.#deps.watch.settling(this.#attempt.claimed);
    if (!(await settleOne(tx, worker, { tenant, id, attempt, outcome: "done", result: text }))) {
      this.#attempt.stop("lease_lost");
      throw this.#lost("its completion");
    }
    this.#attempt.completed = true;
  }

  async effect<T>(key: string, options: EffectOptions<T>): Promise<T> {
    return await this.#deps.ledger.perform(this.#effectAttempt, "effect", key, options);
  }

  async webhook(request: WebhookRequest): Promise<WebhookReceipt>;
  async webhook(request: WebhookEvent): Promise<readonly EndpointReceipt[]>;
  async webhook(request: WebhookRequest | WebhookEvent): Promise<WebhookReceipt | readonly EndpointReceipt[]> {
    return await performWebhook(this.#deps.ledger, this.#effectAttempt, request, this.#deps.webhooks);
  }

  async email(request: EmailRequest): Promise<EmailReceipt> {
    return await performEmail(this.#deps.ledger, this.#effectAttempt, request, this.#deps.smtpUrl);
  }

  async usage(meter: string, amount: number, options?: UsageOptions): Promise<void> {
    return await countUsage(this.#deps.ledger, this.#effectAttempt, meter, amount, options);
  }

  async step<T>(key: string, fn: () => Promise<T> | T): Promise<T> {
    return await this.#deps.steps.step(this.#stepAttempt, key, fn);
  }

  async sleep(key: string, duration: Duration): Promise<void> {
    await this.#deps.steps.sleep(this.#stepAttempt, key, duration);
  }

  async waitFor(event: string, options: WaitOptions = {}): Promise<ReceivedEvent | null> {
    return await this.#deps.steps.waitFor(this.#stepAttempt, event, options);
  }

  async spawn(job: AnyJobDefinition, payload: unknown, options?: SpawnOptions & SpawnPolicy<"throw">): Promise<unknown>;
  async spawn(job: AnyJobDefinition, payload: unknown, options: SpawnOptions & SpawnPolicy): Promise<ChildOutcome>;
  async spawn(
    job: AnyJobDefinition,
    payload: unknown,
    { key = job.kind, onChildFailure, ...options }: SpawnOptions & SpawnPolicy = {},
  ): Promise<unknown> {
    const outcomes = await this.#deps.steps.spawn(this.#stepAttempt, key, [{ ...options, job, payload }]);
    return onChildFailure === "collect" ? outcomes[0] : resultsOf(outcomes)[0];
  }

  async spawnAll(children: readonly SpawnChild[], options?: SpawnPolicy<"throw">): Promise<readonly unknown[]>;
  async spawnAll(children: readonly SpawnChild[], options: SpawnPolicy): Promise<readonly ChildOutcome[]>;
  async spawnAll(
    children: readonly SpawnChild[],
    { key = "children", onChildFailure }: SpawnPolicy = {},
  ): Promise<readonly unknown[]> {
    const outcomes = await this.#deps.steps.spawn(this.#stepAttempt, key, children);
    return onChildFailure === "collect" ? outcomes : resultsOf(outcomes);
  }

  /** An attempt that was stopped begins nothing; what it has under way is the fence's to refuse. */
  #requireRunning(what: string): void {
    if (this.#attempt.stopped !== null || this.#attempt.waits !== null) throw this.#lost(what);
  }

  #lost(what: string): DoorbellError {
    return new DoorbellError(
      "lease_lost",
      `${what} was refused: attempt ${this.attempt} of job ${this.id} of tenant ${this.tenant} has ended`,
    );
  }

  get #fence(): Fence {
    return { worker: this.#deps.worker, tenant: this.tenant, id: this.id, attempt: this.attempt };
  }

  get #stepAttempt(): StepAttempt {
    this.#requireRunning("a step");
    this.#steps ??= { attempt: this.#attempt, fence: this.#fence, keys: new Set() };
    return this.#steps;
  }

  get #effectAttempt(): EffectAttempt {
    this.#requireRunning("an effect");
    this.#effects ??= {
      fence: this.#fence,
      signal: () => this.signal,
      log: () => this.log,
      loseLease: () => this.#attempt.stop("lease_lost"),
      keys: new Map(),
    };
    return this.#effects;
  }
}
