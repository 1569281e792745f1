// One attempt while it runs: who it is, until when it may run, and how it is stopped. The signal is made only when a
// handler looks at it.
import type { ClaimedJob } from "../store/ticks.ts";
import type { Handler } from "./handler.ts";

/** Why an attempt was stopped from outside. */
export type StopReason = "timeout" | "lease_lost" | "released" | "waiting";

const stopMessages: Record<StopReason, string> = {
  timeout: "its time is up",
  lease_lost: "its lease is lost: another attempt may run",
  released: "the worker is ending; the job goes to another",
  waiting: "the job waits, and its handler begins again when that is over",
};

export class Attempt {
  readonly claimed: ClaimedJob;
  readonly handler: Handler;
  readonly startedAtMs: number;
  readonly deadlineAtMs: number;
  /** The handler has settled the job in a transaction of its own. Whether that committed, only it knows. */
  completed = false;
  /** A step has ended the attempt: the job waits. `dueMs`: how long from then it is due, where that is known. */
  waits: { readonly outcome: "snooze" | "wait"; readonly dueMs: number | null } | null = null;
  #controller: AbortController | null = null;
  #stopped: StopReason | null = null;
  #onStop: ((reason: StopReason) => void) | null = null;

  constructor(claimed: ClaimedJob, handler: Handler, nowMs: number) {
    this.claimed = claimed;
    this.handler = handler;
    this.startedAtMs = nowMs;
    this.deadlineAtMs = nowMs + handler.definition.timeoutMs;
  }

  get stopped(): StopReason | null {
    return this.#stopped;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#stopped !== null) this.#controller.abort(this.#error(this.#stopped));
    return this.#controller.signal;
  }

  /** Stops the attempt: aborts its signal, and ends the wait for its handler. Only the first reason counts. */
  stop(reason: StopReason): void {
    if (this.#stopped !== null) return;
    this.#stopped = reason;
    this.#controller?.abort(this.#error(reason));
    this.#onStop?.(reason);
  }

  /** What the handler comes to, or why it was stopped, whichever is first. A handler that is left behind keeps running. */
  race(running: Promise<unknown>): Promise<{ readonly value: unknown } | { readonly stopped: StopReason }> {
    return new Promise((resolve, reject) => {
      if (this.#stopped !== null) return resolve({ stopped: this.#stopped });
      this.#onStop = (reason) => resolve({ stopped: reason });
      running.then((value) => resolve({ value }), reject);
    });
  }

  #error(reason: StopReason): Error {
    const { id, tenant, attempt } = this.claimed;
    return new Error(`attempt ${attempt} of job ${id} of tenant ${tenant} must stop: ${stopMessages[reason]}`);
  }
}
