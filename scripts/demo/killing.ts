// Kills a worker with -9 while it works. What it works on is known from its own log, so that the kill hits a document that
// is being read, and not by chance the moment between a receiver's answer and its record: what is in doubt then has to be
// sent again, with the same id. (It would be no fault. There is a test for it; the demo shows the everyday case.)
import type { DemoProcess, LogLine } from "./process.ts";

/** What a worker runs, as far as it has said. */
export class WorkerView {
  readonly #reading = new Set<string>();
  readonly #telling = new Set<string>();
  #ended = 0;

  take({ message, job_id: job, stage }: LogLine): void {
    if (typeof message !== "string" || typeof job !== "string") return;
    if (message === "stage fetch done") this.#reading.add(job);
    else if (stage === "extract") {
      this.#reading.delete(job);
      this.#telling.add(job);
    } else if (message.startsWith("attempt ended") || message.startsWith("the lease was lost")) {
      this.#telling.delete(job);
      this.#ended += 1;
    }
  }

  /** How many documents are being read. */
  get reading(): number {
    return this.#reading.size;
  }

  /** It has finished some, reads more, and is telling nobody anything. */
  get isAtWorkAndQuiet(): boolean {
    return this.#ended > 0 && this.#reading.size > 0 && this.#telling.size === 0;
  }
}

export interface Killing {
  /** How many documents it was reading; null while it lives. */
  readonly readingWhenKilled: number | null;
  /** From now on, any document that is being read will do. */
  hurry(): void;
}

/** Kills it at the first good moment. `onKilled` is told how many documents it was reading. */
export function killWhileItReads(worker: DemoProcess, onKilled: (reading: number) => void): Killing {
  const view = new WorkerView();
  let isInHurry = false;
  let readingWhenKilled: number | null = null;

  const killIfGood = (): void => {
    if (readingWhenKilled !== null || !(view.isAtWorkAndQuiet || (isInHurry && view.reading > 0))) return;
    readingWhenKilled = view.reading;
    void worker.kill().then(() => onKilled(view.reading));
  };
  worker.onLine((line) => {
    view.take(line);
    killIfGood();
  });
  return {
    get readingWhenKilled() {
      return readingWhenKilled;
    },
    hurry() {
      isInHurry = true;
      killIfGood();
    },
  };
}
