// The client: what an application holds. Enqueues, in a transaction of the caller's or in one of its own, and rings after
// the commit. It owns its connections and nothing else; workers and services are built on it, not in it.
import { setTimeout as sleep } from "node:timers/promises";
import type { AnyJobDefinition, JobDefinition } from "../core/definition.ts";
import { DoorbellError } from "../core/errors.ts";
import { assertStorableText, toStorableJson } from "../core/json.ts";
import { requireTenant } from "../core/tenant.ts";
import { Bucket } from "../objects/bucket.ts";
import type { BucketDriver } from "../objects/driver.ts";
import { openBucket } from "../objects/open.ts";
import type { QueueDriver } from "../queue/driver.ts";
import { openQueueDriver } from "../queue/open.ts";
import { Queue } from "../queue/queue.ts";
import { Database, isDatabaseTrouble, type Tx } from "../store/database.ts";
import { emit } from "../store/events.ts";
import * as jobs from "../store/jobs.ts";
import { addLanes } from "../store/maintenance.ts";
import { clamp, type Tenancy, type TenancyOptions, tenancyOf } from "../store/tenancy.ts";
import { createLog, type Log } from "../telemetry/log.ts";
import { createMetrics, type Metrics } from "../telemetry/metrics.ts";
import { Lookout } from "./lookout.ts";
import { type EnqueueOptions, enqueueRow } from "./request.ts";
import { Waker } from "./waker.ts";

export interface DoorbellOptions extends TenancyOptions {
  readonly databaseUrl: string;
  /** A URL, "postgres:" (default), "redis://…", "nats://…", …: see docs/queues. Or a driver, which the client then closes. */
  readonly queue?: string | QueueDriver;
  /** "file:DIR", "s3://BUCKET/PREFIX" or "memory:" (default; it dies with the process). Or a driver, which the client then closes. */
  readonly objects?: string | BucketDriver;
  /** The setting that the application's own policies read, such as "app.tenant_id"; clamped together with ours. */
  readonly tenantSetting?: string;
  /** Payload, result and effect value: at most so many bytes of JSON each. Default 65,536; Postgres refuses more than its own setting. */
  readonly valueMaxBytes?: number;
  /** Connections of the client's pool. Default 10. */
  readonly connectionsMax?: number;
  readonly log?: Log;
  readonly metrics?: Metrics;
  /** Stands between: for tests and demonstrations that lose, double or delay doorbells. */
  readonly wrapQueue?: (driver: QueueDriver) => QueueDriver;
}

/** What became of an enqueue. */
export interface Receipt {
  readonly id: string;
  /** False: this id or key was there before, and `id` is the job that has it. */
  readonly created: boolean;
  /**
   * Tells the workers now. Only of use after the commit of a transaction that the caller owns, where it spares them the
   * few milliseconds until the look-out has seen it. Harmless otherwise.
   */
  ring(): Promise<void>;
}

export interface EnqueueManyItem extends EnqueueOptions {
  readonly job: AnyJobDefinition;
  readonly payload?: unknown;
}

const besideCallerMs = 1_000;
const defaultValueMaxBytes = 65_536;
const eventMaxBytes = 500;

/** Opens the client. It connects at the first use. Throws option_invalid, objects_unavailable, peer_missing. */
export async function openClient(options: DoorbellOptions): Promise<Client> {
  const { objects: place = "memory:" } = options;
  const objects = typeof place === "string" ? await openBucket(place) : new Bucket(place);
  const database = new Database({ url: options.databaseUrl, max: options.connectionsMax ?? 10, name: "doorbell" });
  try {
    const { queue = "postgres:" } = options;
    const driver = typeof queue === "string" ? await openQueueDriver(queue, database) : queue;
    return new Client(options, { objects, database, driver });
  } catch (error) {
    await Promise.all([objects.close(), database.close()]);
    throw error;
  }
}

interface Parts {
  readonly objects: Bucket;
  readonly database: Database;
  readonly driver: QueueDriver;
}

export class Client {
  readonly objects: Bucket;
  readonly queue: Queue;
  readonly database: Database;
  readonly databaseUrl: string;
  readonly waker: Waker;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly valueMaxBytes: number;
  readonly tenancy: Tenancy;
  readonly #lookout: Lookout;
  readonly #knownLanes = new Set(["default"]);
  /** Transactions of ours that are open: the lanes to wake after their commit. */
  readonly #ours = new WeakMap<Tx, Set<string>>();

  /** Use openClient. */
  constructor(options: DoorbellOptions, { objects, database, driver }: Parts) {
    this.objects = objects;
    this.database = database;
    this.databaseUrl = options.databaseUrl;
    this.tenancy = tenancyOf(options.tenantSetting ?? null, options);
    this.valueMaxBytes = options.valueMaxBytes ?? defaultValueMaxBytes;
    this.log = options.log ?? createLog({ level: "info" });
    this.metrics = options.metrics ?? createMetrics();
    this.queue = new Queue(options.wrapQueue?.(driver) ?? driver, this);
    this.waker = new Waker(this.database);
    this.#lookout = new Lookout(this.database, (lane) => this.waker.wake(lane));
  }

  /**
   * Enqueues a job, in `tx` if one is given: it exists when that transaction has committed, and only then. Without tx it
   * is durable when this resolves.
   *
   * Throws DoorbellError tenant_invalid, payload_invalid, payload_too_large, value_not_storable, key_invalid and
   * option_invalid before any SQL, so that the caller's transaction is not harmed; tenant_mismatch in a transaction that
   * is clamped to another tenant; a serialization failure as Postgres threw it (SQLSTATE 40001). When it ends in
   * database_unavailable outside a transaction, the job may or may not be there: enqueue again with the same id or key.
   */
  async enqueue<In, Out>(
    job: JobDefinition<In, Out>,
    payload: In,
    options: EnqueueOptions & { readonly tx?: Tx },
  ): Promise<Receipt> {
    const row = await enqueueRow(job, payload, options, this);
    await this.ensureLanes([row.lane], options.tx);
    const enqueued = await jobs.enqueue(options.tx ?? this.database, row, this.tenancy);
    return this.#receipts([row], [enqueued], options.tx)[0] as Receipt;
  }

  /** Enqueues many jobs, of any kinds and tenants, in one statement: all or none. Receipts in the order of the items. */
  async enqueueMany(
    items: readonly EnqueueManyItem[],
    options: { readonly tx?: Tx } = {},
  ): Promise<readonly Receipt[]> {
    if (items.length === 0) return [];
    const rows = await Promise.all(items.map((item) => enqueueRow(item.job, item.payload, item, this)));
    await this.ensureLanes(
      rows.map((row) => row.lane),
      options.tx,
    );
    const enqueued = await jobs.enqueueMany(options.tx ?? this.database, rows, this.tenancy);
    return this.#receipts(rows, enqueued, options.tx);
  }

  /**
   * Tells that something has happened, in `tx` if one is given: to every job of the tenant that waits for an event of this
   * name, and to those that exist by now and will (`job.waitFor`). Payload: JSON, at most 64 KB. How many were waiting.
   *
   * Throws tenant_invalid, option_invalid and value_not_storable before any SQL, and tenant_mismatch as enqueue does. When it
   * ends in database_unavailable outside a transaction, the event may or may not be there: emitted again, it is another one.
   */
  async emit(tenant: string, event: string, payload?: unknown, options: { readonly tx?: Tx } = {}): Promise<number> {
    requireTenant(tenant);
    assertStorableText(event, { name: "event", maxBytes: eventMaxBytes, code: "option_invalid" });
    if (event === "") throw new DoorbellError("option_invalid", "an event has a name");
    const text =
      payload === undefined ? null : toStorableJson(payload, { path: "payload", maxBytes: this.valueMaxBytes }).text;
    const { woken, lanes, xid } = await emit(options.tx ?? this.database, tenant, event, text, this.tenancy);
    for (const lane of lanes) this.#wakeAfterCommit(lane, xid, options.tx);
    return woken;
  }

  /**
   * Runs fn in a transaction of ours, clamped to the tenant, and rings after its commit. See Database.transaction for what
   * it throws at the end.
   */
  async transaction<T>(tenant: string, fn: (tx: Tx) => Promise<T>): Promise<T> {
    requireTenant(tenant);
    const lanes = new Set<string>();
    const result = await this.database.transaction(async (tx) => {
      this.#ours.set(tx, lanes);
      await this.clamp(tx, tenant);
      return await fn(tx);
    });
    for (const lane of lanes) this.waker.wake(lane);
    return result;
  }

  /** Clamps a transaction of the caller's to a tenant, until it ends: our setting, and the application's own. */
  async clamp(tx: Tx, tenant: string): Promise<void> {
    await clamp(tx, requireTenant(tenant), this.tenancy);
  }

  /**
   * Makes lanes that are not there yet, on a connection of ours. While a transaction of the caller's is open there may be
   * none to be had (a pooler of one): it is waited for briefly.
   */
  async ensureLanes(lanes: readonly string[], caller?: Tx): Promise<void> {
    const unknown = [...new Set(lanes)].filter((lane) => !this.#knownLanes.has(lane));
    if (unknown.length === 0) return;
    const added = addLanes(this.database, unknown).then(
      () => unknown.forEach((lane) => void this.#knownLanes.add(lane)),
      (error: unknown) => {
        // doorbell_producer may not, and need not try again: the enqueue tells whether the lane is there.
        if (!isDatabaseTrouble(error)) for (const lane of unknown) this.#knownLanes.add(lane);
      },
    );
    await (caller === undefined ? added : Promise.race([added, sleep(besideCallerMs, undefined, { ref: false })]));
  }

  /** Ends the client's connections. Enqueue nothing after it. */
  async close(): Promise<void> {
    this.#lookout.close();
    await this.waker.flush();
    await this.queue.close();
    await this.objects.close();
    await this.database.close();
  }

  #receipts(
    rows: readonly jobs.EnqueueRow[],
    enqueued: readonly jobs.Enqueued[],
    tx: Tx | undefined,
  ): readonly Receipt[] {
    return enqueued.map(({ id, created, xid }, index) => {
      const { lane, runAfter } = rows[index] as jobs.EnqueueRow;
      if (created && runAfter === null) this.#wakeAfterCommit(lane, xid, tx);
      return {
        id,
        created,
        ring: () => {
          this.waker.wake(lane);
          return this.waker.flush();
        },
      };
    });
  }

  /** Something is in the line of this lane once this transaction has committed; without tx, it has. */
  #wakeAfterCommit(lane: string, xid: string, tx: Tx | undefined): void {
    const ours = tx === undefined ? undefined : this.#ours.get(tx);
    if (tx === undefined) this.waker.wake(lane);
    else if (ours !== undefined) ours.add(lane);
    else this.#lookout.watch(xid, lane);
  }
}
