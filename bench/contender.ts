// What a job system must offer to be measured here, and what a reader must be told about how it was set up.
// A contender is loaded only in a process of its own (agent/), never in the bench's own process.

/** One job of the bench. Systems without tenants leave `tenant` out of account. */
export interface BenchJob {
  readonly tenant: string;
  /** From 0, and unique within one measurement. It travels as the payload `{ n: number }`. */
  readonly number: number;
}

/** A setting that differs from the system's default, and the place that recommends it. */
export interface Setting {
  readonly name: string;
  readonly value: string;
  readonly source: string;
}

/** The side that enqueues: one connection or pool of its own. */
export interface Producer {
  /** Resolves when the job is durable. */
  enqueue(job: BenchJob): Promise<void>;
  /** All jobs in one call of the system's own bulk interface; resolves when all are durable. */
  enqueueMany(jobs: readonly BenchJob[]): Promise<void>;
  /**
   * Enqueues within a transaction that the caller owns, on the caller's own `pg` client, and commits it. Returns the
   * instant (`monotonicMs`) at which COMMIT returned. `ring`: the caller says so to the system after its commit.
   */
  enqueueInTransaction?(job: BenchJob, options: { readonly ring: boolean }): Promise<number>;
  /** A request of the web tier, in a transaction that the tenant is in force in: reads its newest job, and enqueues this one. */
  request?(job: BenchJob): Promise<void>;
  close(): Promise<void>;
}

/** The side that works: one worker as the system would run it in a process of its own. */
export interface Consumer {
  /** Resolves when the worker takes jobs. */
  start(): Promise<void>;
  /** Resolves when nothing runs any more and all connections are closed. */
  stop(): Promise<void>;
}

/** One job system. Every URL is a superuser's, to a database that belongs to this contender alone. */
export interface Contender {
  readonly name: string;
  readonly version: string;
  readonly settings: readonly Setting[];
  /** One boolean column: is any job not settled yet? Asked every few milliseconds at a run's end, so keep it cheap. */
  readonly unsettledSql: string;
  /** One integer column: how many jobs ended well. Null where the system keeps no history to count. */
  readonly doneSql: string | null;
  /** Makes the schema in an empty database. Not timed. */
  install(databaseUrl: string): Promise<void>;
  /** Looks over all tenants once for doorbells that are lost. How many rang again. */
  sweep?(databaseUrl: string): Promise<number>;
  openProducer(databaseUrl: string): Promise<Producer>;
  /** `onStart` is the whole handler: it is called with the job's number when the handler starts. */
  openConsumer(databaseUrl: string, onStart: (jobNumber: number) => void): Promise<Consumer>;
}
