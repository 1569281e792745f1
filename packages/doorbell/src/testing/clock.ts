// A clock that stands still until a test moves it. Timers fire in the order of their instants, each at exactly its own.
// For code that takes a Clock; it does not touch the timers of the process.
import type { Clock } from "../core/clock.ts";

export interface ManualClock extends Clock {
  /**
   * Moves time by `ms`, firing what becomes due on the way, timers set meanwhile included. After each one it lets the
   * promises that were waiting for it run. Time never moves back: use setNow for a wall clock that jumps.
   */
  advance(ms: number): Promise<void>;
  /** Sets the wall clock alone, as an operator or NTP does; timers and monotonicMs do not notice. */
  setNow(now: Date): void;
  /** How many timers are set. */
  readonly pendingTimers: number;
}

interface Timer {
  readonly dueAtMs: number;
  readonly fn: () => void;
}

/** A clock at `now`; by default an instant that stands out in any output. */
export function manualClock(now: Date = new Date("2001-02-03T04:05:06.789Z")): ManualClock {
  const timers = new Set<Timer>();
  let elapsedMs = 0;
  let startedAtMs = now.getTime();

  const nextDue = (): Timer | undefined => {
    let next: Timer | undefined;
    for (const timer of timers) if (next === undefined || timer.dueAtMs < next.dueAtMs) next = timer;
    return next;
  };

  return {
    now: () => new Date(startedAtMs + elapsedMs),
    monotonicMs: () => elapsedMs,
    setTimer(ms, fn) {
      const timer = { dueAtMs: elapsedMs + Math.max(ms, 0), fn };
      timers.add(timer);
      return () => {
        timers.delete(timer);
      };
    },
    async advance(ms) {
      const untilMs = elapsedMs + ms;
      await settlePromises();
      for (let timer = nextDue(); timer !== undefined && timer.dueAtMs <= untilMs; timer = nextDue()) {
        timers.delete(timer);
        elapsedMs = Math.max(elapsedMs, timer.dueAtMs);
        timer.fn();
        await settlePromises();
      }
      elapsedMs = Math.max(elapsedMs, untilMs);
    },
    setNow(date) {
      startedAtMs = date.getTime() - elapsedMs;
    },
    get pendingTimers() {
      return timers.size;
    },
  };
}

function settlePromises(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
