// A thing that is done again and again while the process lives. One contract for all of maintenance: start, stop, and no
// pass that fails ends it.
import type { Log } from "../telemetry/log.ts";
import type { Service } from "../worker/worker.ts";

export interface RepeatedOptions {
  readonly name: string;
  /** From the end of a pass to the start of the next. */
  readonly everyMs: number | (() => number);
  /** The share of the time that passes may take, in (0, 1]: after a long one the pause is longer, up to four times. Default 1. */
  readonly shareMax?: number;
  readonly log: Log;
  /** "idle": there was nothing to do, so whether it would work, after passes that failed, is not known. */
  run(signal: AbortSignal): Promise<void> | Promise<"idle" | undefined>;
}

/** A service that can be told to make its next pass now. */
export interface Repeated extends Service {
  wake(): void;
}

/** A pass may have been slow for no fault of its own (a busy machine, a lock): that must not put the next off for minutes. */
const pauseTimesMax = 4;

/** How long to pause after a pass that took so long. */
export function pauseAfterMs(tookMs: number, everyMs: number, shareMax: number): number {
  return Math.min(pauseTimesMax * everyMs, Math.max(everyMs, (tookMs * (1 - shareMax)) / shareMax));
}

/** The first pass is made at the start. A pass that throws is logged, once in a row of failures, and tried again. */
export function repeated(options: RepeatedOptions): Repeated {
  const abort = new AbortController();
  let running: Promise<void> | null = null;
  let endPause: (() => void) | null = null;
  let woken = false;

  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      if (woken || abort.signal.aborted) return resolve();
      const timer = setTimeout(() => endPause?.(), ms);
      endPause = () => {
        clearTimeout(timer);
        endPause = null;
        resolve();
      };
    });

  const loop = async (): Promise<void> => {
    let failing = false;
    while (!abort.signal.aborted) {
      woken = false;
      let failed = false;
      const startedAtMs = performance.now();
      try {
        const isIdle = (await options.run(abort.signal)) === "idle";
        if (failing && !isIdle) {
          options.log.info(`${options.name} works again`);
          failing = false;
        }
      } catch (error) {
        if (!failing) options.log.warn(`${options.name} failed; it is tried again`, { error });
        failing = true;
        failed = true;
      }
      const everyMs = typeof options.everyMs === "number" ? options.everyMs : options.everyMs();
      if (failed) woken = false; // Whoever calls in vain again and again must not heat a loop.
      await pause(failed ? everyMs : pauseAfterMs(performance.now() - startedAtMs, everyMs, options.shareMax ?? 1));
    }
  };

  return {
    name: options.name,
    start: () => {
      running ??= loop();
    },
    stop: async () => {
      abort.abort();
      endPause?.();
      await running;
    },
    wake: () => {
      woken = true;
      endPause?.();
    },
  };
}
