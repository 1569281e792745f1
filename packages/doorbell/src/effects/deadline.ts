// One deadline over a whole exchange, joined with the caller's own signal.
// Leaves nothing behind: no timer, and no listener on a signal that outlives the exchange.
export interface Deadline {
  readonly signal: AbortSignal;
  /** To be called when the exchange has ended, however it did. */
  stop(): void;
}

/** No transport waits longer than ten minutes, whatever it is asked for. */
const deadlineMaxMs = 600_000;

/** The reason of the signal is an error that says which of the two it was. */
export function startDeadline(deadlineMs: number, signal?: AbortSignal): Deadline {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(new Error("given up: the attempt has ended"));
  const onTimeout = (): void => controller.abort(new Error(`no answer within ${deadlineMs} ms`));
  const timer = setTimeout(onTimeout, Math.min(deadlineMs, deadlineMaxMs));
  if (signal?.aborted === true) onAbort();
  signal?.addEventListener("abort", onAbort, { once: true });
  return {
    signal: controller.signal,
    stop() {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    },
  };
}
