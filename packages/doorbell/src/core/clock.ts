// Time as the runtime sees it: an instant for people, a monotonic reading for durations, and timers.
// Whether a job is due and whether a lease has expired is never judged here, but on the database's clock.
export interface Clock {
  /** The wall clock: may jump. For what people read. */
  now(): Date;
  /** Milliseconds from an arbitrary start; never goes back. For every duration and deadline. */
  monotonicMs(): number;
  /** Calls `fn` once, after at least `ms`, of any length. The function it returns takes the timer back; calling that twice is harmless. */
  setTimer(ms: number, fn: () => void): () => void;
}

/** The longest delay setTimeout takes: above it, it fires at once. */
const timeoutMaxMs = 2 ** 31 - 1;

/** The clock of the process. */
export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  setTimer(ms, fn) {
    const dueAtMs = performance.now() + Math.max(ms, 0);
    let timer: NodeJS.Timeout;
    const arm = (): void => {
      const leftMs = dueAtMs - performance.now();
      timer = leftMs > timeoutMaxMs ? setTimeout(arm, timeoutMaxMs) : setTimeout(fn, Math.max(0, Math.ceil(leftMs)));
    };
    arm();
    return () => clearTimeout(timer);
  },
};
