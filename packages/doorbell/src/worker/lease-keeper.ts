// Starts the lease keeper's thread and speaks with it. One message when claims come in, so that the thread knows of them
// before a handler begins, and one when the last of them has ended.
import { Worker as Thread } from "node:worker_threads";
import type { Attempt } from "./attempt.ts";
import type { KeeperMessage, KeeperReport, KeeperSettings, KeptClaim, LostLease } from "./lease-thread.ts";

export interface LeaseKeeperOptions extends KeeperSettings {
  /** These jobs are no longer ours: stop their attempts. */
  readonly onLost: (leases: readonly LostLease[]) => void;
  /** The thread has died; without it leases run out. */
  readonly onDied: (error: Error) => void;
}

export class LeaseKeeper {
  readonly #thread: Thread;
  #batches = 0;
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

  /** Call what it returns once for each of these attempts when it has ended. */
  keep(attempts: readonly Attempt[]): () => void {
    this.#batches += 1;
    const batch = this.#batches;
    const claims: readonly KeptClaim[] = attempts.map(({ claimed, handler }) => [
      claimed.tenant,
      claimed.id,
      claimed.attempt,
      handler.definition.timeoutMs,
    ]);
    // As one text: cheap to hand over, and mostly never read, because most jobs end before their lease is to be renewed.
    this.#post({ batch, claims: JSON.stringify(claims) });
    let open = attempts.length;
    return () => {
      open -= 1;
      if (open === 0) this.#post({ ended: batch });
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#thread.terminate();
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
