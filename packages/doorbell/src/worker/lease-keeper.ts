// Starts the lease keeper's thread and speaks with it. One message a batch of claims and one a batch of settlements: what
// the thread needs to know, it knows before the handler begins.
import { Worker as Thread } from "node:worker_threads";
import type { Attempt } from "./attempt.ts";
import type { KeeperMessage, KeeperReport, KeeperSettings, LostLease } from "./lease-thread.ts";

export interface LeaseKeeperOptions extends KeeperSettings {
  /** These jobs are no longer ours: stop their attempts. */
  readonly onLost: (leases: readonly LostLease[]) => void;
  /** The thread has died; without it leases run out. */
  readonly onDied: (error: Error) => void;
}

export class LeaseKeeper {
  readonly #thread: Thread;
  readonly #removed: string[] = [];
  #answers = true;
  #closed = false;

  constructor(options: LeaseKeeperOptions) {
    const { onLost, onDied, ...settings } = options;
    this.#thread = startThread(settings);
    this.#thread.on("message", (report: KeeperReport) => {
      if ("lost" in report) onLost(report.lost);
      else this.#answers = report.answers;
    });
    this.#thread.on("error", onDied);
    this.#thread.on("exit", () => {
      if (!this.#closed) onDied(new Error("the lease keeper's thread ended"));
    });
    this.#thread.unref();
  }

  /** False while Postgres does not answer the keeper. */
  get answers(): boolean {
    return this.#answers;
  }

  keep(attempts: readonly Attempt[]): void {
    this.#postReleases(); // in this order: one of these may be the next attempt of a job that has just been released
    this.#post({
      add: {
        tenants: attempts.map((attempt) => attempt.claimed.tenant),
        ids: attempts.map((attempt) => attempt.claimed.id),
        attempts: attempts.map((attempt) => attempt.claimed.attempt),
        timeoutsMs: attempts.map((attempt) => attempt.handler.definition.timeoutMs),
      },
    });
  }

  /** Ends keeping. Collected for a turn of the loop: jobs often end together. */
  release(id: string): void {
    this.#removed.push(id);
    if (this.#removed.length === 1) setImmediate(() => this.#postReleases());
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#thread.terminate();
  }

  #postReleases(): void {
    if (this.#removed.length > 0) this.#post({ remove: this.#removed.splice(0) });
  }

  #post(message: KeeperMessage): void {
    this.#thread.postMessage(message);
  }
}

/** From a checkout the thread is TypeScript, and registers the loader for itself before it begins. */
function startThread(settings: KeeperSettings): Thread {
  if (!import.meta.url.endsWith(".ts")) {
    return new Thread(new URL("./lease-thread.js", import.meta.url), { workerData: settings });
  }
  const thread = JSON.stringify(new URL("./lease-thread.ts", import.meta.url).href);
  const loader = JSON.stringify(import.meta.resolve("tsx/esm/api"));
  const code = `import(${loader}).then((tsx) => { tsx.register(); return import(${thread}); })`;
  return new Thread(code, { eval: true, workerData: settings });
}
