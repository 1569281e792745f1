// A handler's run that leaves nothing behind, for a dry run: effects are answered from the ledger, transactions are rolled
// back, and nothing is claimed, settled or logged. It holds neither the ledger nor anything that sends, so there is nothing
// here by which an effect could be called. What a handler does by connections and clients of its own it cannot see.
import { parsePayload } from "../core/definition.ts";
import { DoorbellError } from "../core/errors.ts";
import { describeFailure, failureText } from "../core/failure.ts";
import { toStorableJson } from "../core/json.ts";
import { isCancel, isSnooze } from "../core/outcome.ts";
import { type EmailReceipt, type EmailRequest, emailKey } from "../effects/email.ts";
import type { EffectOptions } from "../effects/ledger.ts";
import { type UsageOptions, usageKey } from "../effects/usage.ts";
import { type WebhookEvent, type WebhookReceipt, type WebhookRequest, webhookKey } from "../effects/webhook.ts";
import type { EndpointReceipt } from "../effects/webhooks/fan-out.ts";
import type { Bucket } from "../objects/bucket.ts";
import type { Database, Tx } from "../store/database.ts";
import type { JobRow } from "../store/jobs.ts";
import type { EffectState } from "../store/ledger.ts";
import { clamp, type Tenancy } from "../store/tenancy.ts";
import type { Log } from "../telemetry/log.ts";
import type { ChildOutcome } from "./child-failed.ts";
import type { Handler, Job, ReceivedEvent } from "./handler.ts";

export interface RehearsalDeps {
  /** The application's login. */
  readonly database: Database;
  readonly tenancy: Tenancy;
  readonly objects: Bucket;
  readonly valueMaxBytes: number;
  readonly log: Log;
}

/** How the run ended. `stopped`: at a call that is not on record, named by `at`; what would come after it is not known. */
export type RehearsalEnd =
  | { readonly end: "done"; readonly result: unknown }
  | { readonly end: "snooze" | "cancelled" }
  | { readonly end: "threw"; readonly error: string }
  | { readonly end: "stopped"; readonly at: string };

/** Runs the handler for this job as it is on record. Never rejects. */
export async function rehearse(
  handler: Handler,
  row: JobRow,
  effects: readonly EffectState[],
  deps: RehearsalDeps,
): Promise<RehearsalEnd> {
  const timeout = new AbortController();
  const { timeoutMs } = handler.definition;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new Error(`the attempt took longer than ${timeoutMs} ms`);
      timeout.abort(error);
      reject(error);
    }, timeoutMs);
  });
  late.catch(() => {});
  let job: RehearsedJob | null = null;
  try {
    const payload = await parsePayload(handler.definition, row.payload);
    job = new RehearsedJob(row, payload, effects, timeout.signal, deps);
    const returned: unknown = await Promise.race([handler.run(job as unknown as Job<never>), late]);
    if (job.stoppedAt !== null) return { end: "stopped", at: job.stoppedAt };
    if (job.completed !== null) return { end: "done", result: job.completed.result };
    if (isSnooze(returned)) return { end: "snooze" };
    if (isCancel(returned)) return { end: "cancelled" };
    return { end: "done", result: stored(returned, deps.valueMaxBytes) };
  } catch (thrown) {
    // Also where the handler has made another error of ours: it would not have come so far.
    if (job?.stoppedAt != null) return { end: "stopped", at: job.stoppedAt };
    return { end: "threw", error: failureText(describeFailure(thrown)) };
  } finally {
    clearTimeout(timer);
    job?.end();
  }
}

/** As it would be stored, and come back. */
function stored(value: unknown, maxBytes: number): unknown {
  return value === undefined ? null : JSON.parse(toStorableJson(value, { path: "result", maxBytes }).text);
}

/** Unwinds the handler from a call that is not on record. */
class Stopped extends Error {
  override readonly name = "Stopped";
}

class RehearsedJob implements Job<unknown> {
  readonly payload: unknown;
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly #row: JobRow;
  readonly #effects: ReadonlyMap<string, EffectState>;
  readonly #deps: RehearsalDeps;
  readonly #keys = new Set<string>();
  #ended = false;
  /** The first call that is not on record. */
  stoppedAt: string | null = null;
  completed: { readonly result: unknown } | null = null;

  constructor(
    row: JobRow,
    payload: unknown,
    effects: readonly EffectState[],
    signal: AbortSignal,
    deps: RehearsalDeps,
  ) {
    this.#row = row;
    this.payload = payload;
    this.#effects = new Map(effects.map((effect) => [effect.key, effect]));
    this.signal = signal;
    this.#deps = deps;
    this.log = deps.log;
  }

  get id(): string {
    return this.#row.id;
  }
  get tenant(): string {
    return this.#row.tenant_id;
  }
  get kind(): string {
    return this.#row.kind;
  }
  /** The one that it would be. */
  get attempt(): number {
    return this.#row.attempts + 1;
  }
  get maxAttempts(): number {
    return this.#row.max_attempts;
  }
  get objectKey(): string | null {
    return this.#row.object_key;
  }

  /** Nothing begins any more: the dry run has been told. */
  end(): void {
    this.#ended = true;
  }

  async stage<T>(_name: string, fn: (log: Log) => Promise<T> | T): Promise<T> {
    this.#requireRunning();
    return await fn(this.log);
  }

  async object(): Promise<Uint8Array> {
    this.#requireRunning();
    const { object_key: key, object_sha256: sha256, object_size: size } = this.#row;
    if (key === null) throw new DoorbellError("object_missing", `job ${this.id} was enqueued without an object`);
    const expect = sha256 === null || size === null ? undefined : { sha256, size };
    return await this.#deps.objects.get(this.tenant, key, expect && { expect });
  }

  async transaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    this.#requireRunning();
    return await rolledBack(this.#deps.database, async (tx) => {
      await clamp(tx, this.tenant, this.#deps.tenancy);
      return await fn(tx);
    });
  }

  async complete(_tx: Tx, result?: unknown): Promise<void> {
    this.#requireRunning();
    this.completed = { result: stored(result, this.#deps.valueMaxBytes) };
  }

  async effect<T>(key: string, _options: EffectOptions<T>): Promise<T> {
    return this.#answer("effect", key) as T;
  }

  async webhook(request: WebhookRequest): Promise<WebhookReceipt>;
  async webhook(request: WebhookEvent): Promise<readonly EndpointReceipt[]>;
  async webhook(request: WebhookRequest | WebhookEvent): Promise<WebhookReceipt | readonly EndpointReceipt[]> {
    const key = webhookKey(request);
    if ("url" in request) return this.#answer("webhook", key) as WebhookReceipt;
    const endpoints = this.#answer("webhook", `${key}:endpoints`) as readonly string[];
    return endpoints.map((endpoint) => this.#answer("webhook", `${key}:${endpoint}`) as EndpointReceipt);
  }

  async email(request: EmailRequest): Promise<EmailReceipt> {
    return this.#answer("email", emailKey(request)) as EmailReceipt;
  }

  async usage(meter: string, _amount: number, options?: UsageOptions): Promise<void> {
    this.#answer("usage", usageKey(meter, options));
  }

  /** Computed anew, as in a replay. */
  async step<T>(key: string, fn: () => Promise<T> | T): Promise<T> {
    this.#requireRunning();
    this.#takeKey(`step ${key}`);
    const value = await fn();
    return stored(value, this.#deps.valueMaxBytes) as T;
  }

  /** It is over at once. */
  async sleep(): Promise<void> {
    this.#requireRunning();
  }

  async waitFor(event: string): Promise<ReceivedEvent | null> {
    return this.#stop(`waitFor ${event}`);
  }

  async spawn(job: { readonly kind: string }): Promise<never> {
    return this.#stop(`spawn ${job.kind}`);
  }

  async spawnAll(): Promise<readonly never[] & readonly ChildOutcome[]> {
    return this.#stop("spawnAll");
  }

  /** What came of it, if that is on record as completed. Whatever else is known of it, the handler would call. */
  #answer(type: string, key: string): unknown {
    this.#requireRunning();
    this.#takeKey(`effect ${key}`);
    const known = this.#effects.get(key);
    if (known?.outcome !== "completed") return this.#stop(`${type} ${key}`);
    return structuredClone(known.value);
  }

  #takeKey(key: string): void {
    if (this.#keys.has(key)) {
      throw new DoorbellError(
        "effect_conflict",
        `${key} of job ${this.id} was asked for twice: give each a key of its own`,
      );
    }
    this.#keys.add(key);
  }

  #requireRunning(): void {
    if (this.#ended) throw new DoorbellError("closed", `the dry run of job ${this.id} has ended`);
    if (this.stoppedAt !== null) throw new Stopped(`the dry run stopped at ${this.stoppedAt}`);
  }

  #stop(at: string): never {
    this.#requireRunning();
    this.stoppedAt = at;
    throw new Stopped(`the dry run stops here: ${at} is not on record, and would be done`);
  }
}

const undo = Symbol("undo");
/** What would end the transaction from within it, where it stands as a statement. */
const ending = /(?:^|;)\s*(?:commit|end|abort|rollback(?!\s+(?:work\s+|transaction\s+)?to\b)|prepare\s+transaction)\b/i;
/** What is no statement: comments, and quoted text, also that of DO blocks, in which Postgres lets nobody commit. */
const asides = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|\$(\w*)\$[\s\S]*?\$\1\$/g;
/** Handles of transactions that are rolled back. */
const handles = new WeakSet<Tx>();
/** A row that somebody else works with is not waited for longer: a dry run must hold nobody up. */
const lockTimeout = "5s";

/** Runs fn in a transaction that ends by a rollback whatever happens; what a commit would have checked is checked. */
export async function rolledBack<T>(database: Database, fn: (tx: Tx) => Promise<T>): Promise<T> {
  let value: { readonly of: T } | undefined;
  try {
    await database.transaction(async (tx) => {
      await tx.query("select set_config('lock_timeout', $1, true)", [lockTimeout]);
      value = { of: await fn(withoutCommit(tx)) };
      await tx.query("set constraints all immediate");
      throw undo;
    });
  } catch (error) {
    if (error !== undo) throw error;
  }
  return (value as { readonly of: T }).of;
}

/** Whether what is done with this handle is undone at its end. */
export function isRolledBack(tx: Tx | undefined): boolean {
  return tx !== undefined && handles.has(tx);
}

function withoutCommit(tx: Tx): Tx {
  const handle: Tx = {
    query: async (text, params) => {
      if (ending.test(text.replace(asides, " "))) {
        throw new DoorbellError("option_invalid", "a dry run ends its transactions itself: this statement would");
      }
      return await tx.query(text, params);
    },
  };
  handles.add(handle);
  return handle;
}
