// The worker: wires receiver, pool, executor, settler and lease keeper, and takes them down in the right order. What each
// of them does stands in its own file.
import { hostname } from "node:os";
import type { Client } from "../client/client.ts";
import { DoorbellError } from "../core/errors.ts";
import { newId } from "../core/ids.ts";
import { Ledger } from "../effects/ledger.ts";
import { secretBox } from "../effects/webhooks/secrets.ts";
import { Database } from "../store/database.ts";
import { addLanes } from "../store/maintenance.ts";
import { mayBeChild } from "../store/steps.ts";
import type { ClaimedJob, Doorbell, Settlement, TickAnswer } from "../store/ticks.ts";
import type { Attempt } from "./attempt.ts";
import { type AttemptEnd, tellEnd, tellOpened } from "./ends.ts";
import { type ExecutorDeps, execute } from "./executor.ts";
import type { Handler } from "./handler.ts";
import { JobContext, type JobDeps } from "./job.ts";
import { JobLogs } from "./job-logs.ts";
import { LeaseKeeper } from "./lease-keeper.ts";
import { Listener } from "./listener.ts";
import { Pool } from "./pool.ts";
import { Receiver } from "./receiver.ts";
import { Steps } from "./steps.ts";
import { type Settled, Ticker } from "./ticker.ts";
import { resolveTuning, type WorkerTuning } from "./tuning.ts";
import type { WorkerWatch } from "./watch.ts";

export interface WorkerOptions extends WorkerTuning {
  /** A URL that no pooler in transaction mode stands before, for LISTEN. Default: the client's. */
  readonly directDatabaseUrl?: string;
  readonly smtpUrl?: string;
  /** Development only: lets webhooks reach private addresses. */
  readonly allowPrivateWebhooks?: boolean;
  /** What the secrets of webhook endpoints are sealed with: each opens, for as long as something is sealed with it. */
  readonly secretKeys?: readonly string[];
  /** Started and stopped with the worker: sweeper, retention and the like. */
  readonly services?: (worker: Worker) => readonly Service[];
  /** Takes no doorbells by itself, neither from the line nor from the queue: it is given them, with `claim`. */
  readonly byHand?: boolean;
  /** Told of each attempt's end, after it is on record. */
  readonly onEnd?: (outcome: AttemptEnd) => void;
  /** Told of every moment at which a process may die, and waited for. For test harnesses. */
  readonly watch?: WorkerWatch;
}

/** Something that runs beside the worker for as long as it does. Both calls are idempotent. */
export interface Service {
  readonly name: string;
  start(): void;
  /** Resolves when nothing of it runs any more. */
  stop(): Promise<void>;
}

/** Whether a process can work, and why not. */
export interface Health {
  readonly ready: boolean;
  readonly reasons: readonly string[];
}

const pollWhileDeafMs = 100;
/** The line looks for due alarms every 16 ms (sql/functions/03_line.sql): a call right after such a look would be in vain. */
const alarmGrainMs = 20;
/** Beyond it a poll more or less is of no account. */
const soonMs = 60_000;
/** A tick that has not been answered for so long means that the worker cannot work. */
const silentAfterMs = 15_000;

/** A worker of this client. Nothing happens before `start`. Throws option_invalid. */
export function createWorker(client: Client, handlers: readonly Handler[], options: WorkerOptions = {}): Worker {
  return new Worker(client, handlers, options);
}

export class Worker {
  readonly id: string = `${hostname().slice(0, 60)}:${process.pid}:${newId().slice(-8)}`;
  readonly kinds: readonly string[];
  readonly lanes: readonly string[];
  readonly concurrency: number;
  readonly #client: Client;
  readonly #byHand: boolean;
  readonly #onEnd: (outcome: AttemptEnd) => void;
  readonly #watch: WorkerWatch | null;
  readonly #graceMs: number;
  readonly #pollMs: number;
  readonly #pool: Pool;
  readonly #ticker: Ticker;
  readonly #receiver: Receiver | null;
  readonly #keeper: LeaseKeeper;
  readonly #listener: Listener;
  readonly #logs: JobLogs;
  readonly #steps: Steps;
  readonly #executor: ExecutorDeps;
  readonly #databases: readonly Database[];
  readonly #services: readonly Service[];
  readonly #idleListeners: (() => void)[] = [];
  #unsettled = 0;
  #onAllSettled: (() => void) | null = null;
  #pollTimer: NodeJS.Timeout | null = null;
  #unsubscribe: () => void = () => {};
  #state: "new" | "running" | "draining" | "ended" = "new";
  #keeperDied: Error | null = null;
  #dropped = 0;
  #claims = 0;
  #claimedByHand: Promise<void> = Promise.resolve();
  #slotWaiters: (() => void)[] = [];
  #startedAtMs = 0;
  #drained: Promise<void> | null = null;

  /** Use createWorker. */
  constructor(client: Client, handlers: readonly Handler[], options: WorkerOptions) {
    const { log, metrics, databaseUrl } = client;
    this.#client = client;
    this.#byHand = options.byHand ?? false;
    this.#onEnd = options.onEnd ?? (() => {});
    this.#watch = options.watch ?? null;
    this.kinds = handlers.map((handler) => handler.definition.kind);
    const { lanes, concurrency, leaseMs, graceMs, pollMs, transactionsMax } = resolveTuning(handlers, options);
    this.lanes = lanes;
    this.concurrency = concurrency;
    this.#graceMs = graceMs;
    this.#pollMs = pollMs;

    // Handlers cannot use up the connections that keep the worker alive: each purpose has its own.
    const ticks = new Database({ url: databaseUrl, max: 1, name: "doorbell worker" });
    const ledger = new Database({ url: databaseUrl, max: 3, name: "doorbell ledger" });
    const transactions = new Database({ url: databaseUrl, max: transactionsMax, name: "doorbell job" });
    const direct = new Database({ url: options.directDatabaseUrl ?? databaseUrl, max: 1, name: "doorbell listener" });
    this.#databases = [ticks, ledger, transactions, direct];
    this.#services = options.services?.(this) ?? [];

    this.#pool = new Pool(this.concurrency, handlers);
    this.#logs = new JobLogs(ledger, log);
    this.#steps = new Steps(ledger, {
      valueMaxBytes: client.valueMaxBytes,
      wake: (lane) => client.waker.wake(lane),
    });
    const jobDeps: JobDeps = {
      worker: this.id,
      ledger: new Ledger(ledger, client, this.#watch),
      steps: this.#steps,
      objects: client.objects,
      database: transactions,
      tenancy: client.tenancy,
      valueMaxBytes: client.valueMaxBytes,
      log,
      metrics,
      logSink: (attempt) => this.#logs.sink(attempt.claimed),
      webhooks: {
        allowPrivate: options.allowPrivateWebhooks ?? false,
        nowSeconds: () => Math.floor(Date.now() / 1_000),
        secrets: secretBox(options.secretKeys ?? []),
      },
      smtpUrl: options.smtpUrl ?? null,
      watch: this.#watch,
    };
    this.#executor = {
      openJob: (attempt, payload) => new JobContext(attempt, payload, jobDeps),
      valueMaxBytes: client.valueMaxBytes,
      random: Math.random,
      onLeft: (attempt) => this.#left(attempt),
      onLeftEnded: (attempt) => this.#leftEnded(attempt),
    };
    const { line } = client.queue.capabilities;
    this.#ticker = new Ticker({
      database: ticks,
      worker: this.id,
      kinds: this.kinds,
      leaseMs,
      lanes: line && !this.#byHand ? this.lanes : null,
      freeSlots: () => this.#pool.free,
      onClaimed: (jobs) => this.#claimed(jobs),
      onDropped: (dropped) => this.#countDropped(dropped),
      onOpened: (breaker) => tellOpened(client, breaker),
      log,
    });
    this.#receiver =
      line || this.#byHand
        ? null
        : new Receiver({
            queue: client.queue,
            lanes: this.lanes,
            freeSlots: () => this.#pool.free,
            ticker: this.#ticker,
            onClaimed: () => this.#heard(this.lanes),
            onEmpty: () => {
              for (const listener of this.#idleListeners) listener();
            },
            log,
          });
    this.#keeper = new LeaseKeeper({
      databaseUrl,
      worker: this.id,
      leaseMs,
      onLost: (leases) => {
        for (const lease of leases) this.#pool.stop(lease, "lease_lost");
      },
      onDied: (error) => this.#keeperEnded(error),
    });
    this.#listener = new Listener({
      database: direct,
      onWake: (lane) => this.#heard([lane]),
      onChange: () => this.#pollAgain(),
    });
  }

  /** How many handlers run now. */
  get running(): number {
    return this.#pool.running;
  }

  /** Doorbells that came to nothing since the start: duplicates, junk, what others had claimed. */
  get doorbellsDropped(): number {
    return this.#dropped;
  }

  get draining(): boolean {
    return this.#state === "draining" || this.#state === "ended";
  }

  /** Lanes that there are free slots for, and nothing to receive: doorbells that were sent and have not come are lost. */
  idleLanes(): readonly string[] {
    const empty = this.#receiver === null ? this.#ticker.dry : this.#receiver.empty;
    return this.#state === "running" && empty && this.#pool.free > 0 ? this.lanes : [];
  }

  /** Calls when the queue has run empty. */
  onIdle(listener: () => void): void {
    this.#idleListeners.push(listener);
  }

  /** How often the line is looked at, where nobody calls: seldom while wake-ups are heard. */
  pollMs(): number {
    return this.#listener.hears ? this.#pollMs : Math.min(this.#pollMs, pollWhileDeafMs);
  }

  /** Begins to claim. Rejects when Postgres cannot be reached now; later it waits for it. */
  async start(): Promise<void> {
    if (this.#state !== "new") throw new DoorbellError("closed", "a worker starts once");
    this.#state = "running";
    this.#startedAtMs = performance.now();
    if (!this.#byHand) {
      await addLanes(this.#client.database, this.lanes);
      this.#unsubscribe = this.#client.waker.onWake((lane) => this.#wake(lane));
      await this.#listener.start();
      this.#pollAgain();
    }
    this.#ticker.startClaiming();
    this.#receiver?.start();
    for (const service of this.#services) service.start();
    this.#client.log.info("worker started", {
      worker: this.id,
      kinds: this.kinds,
      lanes: this.lanes,
      concurrency: this.concurrency,
    });
  }

  /** How many more jobs may run now, once it is one at least. For a worker by hand: it does not watch over its slots. */
  async freeSlots(): Promise<number> {
    while (this.#pool.free <= 0) await new Promise<void>((resolve) => void this.#slotWaiters.push(resolve));
    return this.#pool.free;
  }

  /**
   * For a worker by hand: claims what these doorbells name, and runs it. Resolves with how many jobs that was, as soon as
   * it is decided; the others came to nothing, and are done with as well. Rejects when Postgres does not answer: then
   * nobody knows. One call at a time.
   */
  async claim(doorbells: readonly Doorbell[]): Promise<number> {
    if (this.#state !== "running" || this.#keeperDied !== null)
      throw new DoorbellError("closed", `the worker is ${this.#state}, and claims nothing`);
    const before = this.#claims;
    const claiming = doorbells.length > 0 ? this.#ticker.claim(doorbells) : Promise.resolve();
    this.#claimedByHand = claiming.catch(() => {});
    await claiming;
    return this.#claims - before;
  }

  /**
   * Claims what doorbells name that somebody pushed, beside those that the worker takes by itself. False: there is no slot
   * free for them, and nothing was done. Rejects when Postgres does not answer: then nobody knows.
   */
  async push(doorbells: readonly Doorbell[]): Promise<boolean> {
    if (this.#state !== "running" || this.#pool.free < doorbells.length) return false;
    if (doorbells.length > 0) await this.#ticker.claim(doorbells);
    return true;
  }

  /**
   * Stops claiming, lets handlers finish within the grace, gives the rest back to the queue, and closes. Safe to call
   * twice: the second call waits for the first.
   */
  drain(graceMs: number = this.#graceMs): Promise<void> {
    this.#drained ??= this.#drain(graceMs);
    return this.#drained;
  }

  /**
   * Ends as a killed process does, for test harnesses: nothing is settled or given back, and no lease is kept. Resolves
   * when nothing is sent to Postgres any more; connections that were in use are left, for Postgres to end.
   */
  async abandon(): Promise<void> {
    this.#state = "ended";
    this.#drained ??= Promise.resolve();
    if (this.#pollTimer !== null) clearInterval(this.#pollTimer);
    this.#unsubscribe();
    await Promise.all([...this.#services.map((service) => service.stop()), this.#receiver?.stop()]);
    await Promise.all([this.#ticker.close(), this.#keeper.close(), this.#listener.close()]);
    this.#pool.stopAll("lease_lost");
    for (const database of this.#databases) void database.close();
  }

  health(): Health {
    const reasons: string[] = [];
    if (this.#state !== "running") reasons.push(`the worker is ${this.#state}`);
    else {
      const silentMs = performance.now() - Math.max(this.#ticker.answeredAtMs, this.#startedAtMs);
      if (silentMs > silentAfterMs)
        reasons.push(`postgres has not answered a tick for ${Math.round(silentMs / 1_000)} s`);
      if (this.#keeperDied !== null) reasons.push(`the lease keeper has died: ${this.#keeperDied.message}`);
      else if (!this.#keeper.answers) reasons.push("postgres does not answer the lease keeper");
      if (this.#receiver?.trouble) reasons.push(`queue ${this.#client.queue.name}: ${this.#receiver.trouble}`);
      if (this.#pool.stuck) reasons.push(`${this.#pool.left} handlers ignore their signal and fill the process`);
    }
    return { ready: reasons.length === 0, reasons };
  }

  /** Tells this process, its ringer included. */
  #heard(lanes: readonly string[]): void {
    for (const lane of lanes) this.#client.waker.heard(lane);
  }

  #wake(lane: string): void {
    if (this.lanes.includes(lane)) this.#ticker.wake();
  }

  #pollAgain(): void {
    if (this.#pollTimer !== null) clearInterval(this.#pollTimer);
    this.#pollTimer = null;
    if (this.#state !== "running") return;
    this.#pollTimer = setInterval(() => this.#ticker.wake(), this.pollMs());
  }

  #claimed(jobs: readonly ClaimedJob[]): void {
    const attempts = this.#pool.admit(jobs);
    const onEnded = this.#keeper.keep(attempts);
    this.#unsettled += attempts.length;
    this.#claims += attempts.length;
    for (const attempt of attempts) {
      this.#client.metrics.jobsClaimed(attempt.claimed.kind);
      const executed = execute(attempt, this.#executor);
      const watched = this.#watch === null ? executed : this.#watched(attempt, executed, this.#watch);
      void watched.then((settlement) => this.#executed(attempt, settlement, onEnded));
    }
  }

  async #watched(
    attempt: Attempt,
    executed: Promise<Settlement | null>,
    watch: WorkerWatch,
  ): Promise<Settlement | null> {
    const settlement = await executed;
    if (settlement !== null) await watch.settling(attempt.claimed);
    return settlement;
  }

  #executed(attempt: Attempt, settlement: Settlement | null, onEnded: () => void): void {
    this.#client.metrics.handlerTook(attempt.claimed.kind, (performance.now() - attempt.startedAtMs) / 1_000);
    this.#pool.remove(attempt);
    this.#slotFreed();
    const ended = (settled: Settled, written: Settlement | null): void => {
      onEnded();
      this.#settled(attempt, written, settled);
    };
    if (settlement === null) ended(attempt.completed || attempt.waits !== null ? "settled" : "lost", null);
    else this.#ticker.settle(settlement, ended);
  }

  #settled(attempt: Attempt, settlement: Settlement | null, settled: Settled): void {
    const dueMs = settlement?.delayMs ?? attempt.waits?.dueMs ?? null;
    if (dueMs !== null) this.#wakeAfter(dueMs);
    const outcome = tellEnd(this.#client, attempt, settlement, settled);
    this.#onEnd(outcome);
    if (mayBeChild(attempt.claimed.id) && isFinal(outcome, attempt))
      void this.#steps.settled(attempt.claimed).then(() => this.#accounted());
    else this.#accounted();
  }

  #accounted(): void {
    this.#unsettled -= 1;
    if (this.#unsettled === 0) this.#onAllSettled?.();
  }

  /** Resolves when every claim of this worker has been settled, or was found lost. */
  #allSettled(): Promise<void> {
    if (this.#unsettled === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onAllSettled = resolve;
    });
  }

  /** A job that is due again soon is looked for then, and not a poll later. */
  #wakeAfter(delayMs: number): void {
    if (delayMs <= soonMs) setTimeout(() => this.#heard(this.lanes), delayMs + alarmGrainMs).unref();
  }

  #countDropped({ stale, unhandled, missed }: TickAnswer["dropped"]): void {
    const { log, metrics } = this.#client;
    this.#dropped += stale;
    if (stale > 0) metrics.doorbellsDropped("stale", stale);
    if (unhandled > 0) metrics.doorbellsDropped("unhandled", unhandled);
    if (missed > 0) {
      metrics.doorbellsDropped("missed", missed);
      log.warn("a claim passed over jobs that were there for the taking; they were rung again", { jobs: missed });
      setTimeout(() => this.#heard(this.lanes), pollWhileDeafMs);
    }
  }

  #left(attempt: Attempt): void {
    this.#pool.markLeft(attempt);
    this.#client.metrics.setLeakedHandlers(this.#pool.left);
  }

  #leftEnded(attempt: Attempt): void {
    this.#pool.unmarkLeft(attempt);
    this.#client.metrics.setLeakedHandlers(this.#pool.left);
    this.#slotFreed();
  }

  #slotFreed(): void {
    this.#ticker.slotFreed();
    for (const waiter of this.#slotWaiters.splice(0)) waiter();
  }

  /** Leases run out without the keeper: what runs is given back while it is still ours, and no more is claimed. */
  #keeperEnded(error: Error): void {
    if (this.#state === "ended" || this.#keeperDied !== null) return;
    this.#keeperDied = error;
    this.#client.log.error("the lease keeper has died; this worker takes no more jobs", { worker: this.id, error });
    void this.#ticker.stopClaiming();
    void this.#receiver?.stop();
    this.#pool.stopAll("released");
  }

  async #drain(graceMs: number): Promise<void> {
    const { log } = this.#client;
    const wasRunning = this.#state === "running";
    this.#state = "draining";
    log.info("worker draining", { worker: this.id, running: this.#pool.running });
    if (this.#pollTimer !== null) clearInterval(this.#pollTimer);
    this.#unsubscribe();
    await this.#ticker.stopClaiming();
    await this.#claimedByHand;
    await this.#receiver?.stop();
    if (wasRunning) {
      if (!(await this.#pool.empty(graceMs))) {
        log.warn("the grace is over; jobs that still run are given back", {
          worker: this.id,
          running: this.#pool.running,
        });
        this.#pool.stopAll("released");
      }
      await this.#allSettled();
      await this.#logs.flush();
    }
    this.#state = "ended";
    await Promise.all(this.#services.map((service) => service.stop()));
    await Promise.all([this.#ticker.close(), this.#keeper.close(), this.#listener.close()]);
    await Promise.all(this.#databases.map((database) => database.close()));
    log.info("worker ended", { worker: this.id });
  }
}

/** Whether the job may have left the open ones. */
function isFinal(outcome: AttemptEnd, { claimed }: Attempt): boolean {
  const isLast = claimed.attempt >= claimed.maxAttempts;
  return outcome === "done" || outcome === "failed" || outcome === "cancelled" || (outcome === "retry" && isLast);
}
