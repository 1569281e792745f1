// How a process ends: on a signal in good order, on a second one at once, and after an exception that nobody caught in good
// order too, but as a failure. A rejection that nobody handled is told and counted, and ends nothing.
import type { Log } from "../telemetry/log.ts";

export interface EndingOptions {
  readonly log: Log;
  /** Takes everything down. */
  readonly stop: () => Promise<void>;
  /** Taking down may wait for a database that is gone; beyond this it has failed. */
  readonly stopWithinMs: number;
}

/** What the application left open may keep the process for so long. */
const leftOpenMs = 1_000;

const signals: readonly NodeJS.Signals[] = ["SIGTERM", "SIGINT"];

/** From now on the process ends by this, and with an exit code that says how: 0 in good order, 1 not. */
export function installEnding({ log, stop, stopWithinMs }: EndingOptions): void {
  let ending = false;
  let rejections = 0;

  const end = (exitCode: number): void => {
    if (ending) return;
    ending = true;
    const timer = setTimeout(() => {
      log.error("the process could not be taken down in time", { within_ms: stopWithinMs });
      process.exit(1);
    }, stopWithinMs);
    stop().then(
      () => {
        clearTimeout(timer);
        log.info("stopped", { exit_code: exitCode });
        // With nothing open the process ends by itself, and the log's last lines are out, in their order, when it does.
        process.exitCode = exitCode;
        setTimeout(() => process.exit(exitCode), leftOpenMs).unref();
      },
      (error: unknown) => {
        log.error("the process was not taken down in good order", { error });
        process.exit(1);
      },
    );
  };

  for (const signal of signals) {
    process.on(signal, () => {
      if (ending) {
        log.warn("a second signal: stopping at once", { signal });
        process.exit(1);
      }
      log.info("stopping", { signal });
      end(0);
    });
  }
  process.on("unhandledRejection", (error) => {
    rejections += 1;
    log.error("a promise was rejected, and nobody handled it", { error, rejections });
  });
  process.on("uncaughtException", (error) => {
    log.error("an exception was not caught: stopping", { error });
    end(1);
  });
}
