// Keeps jobs' lines in Postgres: in batches, within a second or 64 KB of them, so that the lines of an attempt that was
// killed are there. It never stops a handler, and never fails one: lines that cannot be kept are counted and dropped.
import type { Tx } from "../store/database.ts";
import { type LogRow, writeLogs } from "../store/maintenance.ts";
import type { ClaimedJob } from "../store/ticks.ts";
import type { JobLogLine, JobLogSink, Log } from "../telemetry/log.ts";

const flushAfterMs = 100;
const flushAtBytes = 65_536;
/** Per attempt; a handler that says more is cut, and told so in its last line. */
const linesMax = 1_000;
/** Waiting for a database that is away: beyond it the oldest are dropped. */
const bufferMaxBytes = 16 * 1_024 * 1_024;
const batchMax = 1_000;

export class JobLogs {
  readonly #tx: Tx;
  readonly #log: Log;
  #lines: LogRow[] = [];
  #bytes = 0;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> | null = null;

  constructor(tx: Tx, log: Log) {
    this.#tx = tx;
    this.#log = log;
  }

  /** The sink of one attempt. It numbers the lines, so that a batch that is sent twice is stored once. */
  sink({ tenant, id, attempt }: ClaimedJob): JobLogSink {
    let n = 0;
    return {
      append: (line: JobLogLine) => {
        n += 1;
        if (n > linesMax) return;
        const message = n === linesMax ? "further lines of this attempt are not kept" : line.message;
        const fields = Object.keys(line.fields).length === 0 ? null : JSON.stringify(line.fields);
        this.#append({ tenant, id, attempt, n, at: line.at, level: line.level, stage: line.stage, message, fields });
      },
    };
  }

  /** Resolves when all lines so far are kept, or could not be. */
  async flush(): Promise<void> {
    while (this.#lines.length > 0 || this.#writing !== null) {
      this.#startWriting();
      await this.#writing;
    }
  }

  #startWriting(): void {
    this.#writing ??= this.#write();
  }

  #append(row: LogRow): void {
    this.#lines.push(row);
    this.#bytes += bytesOf(row);
    if (this.#bytes > bufferMaxBytes) this.#dropOldest();
    this.#writeSoon();
  }

  #writeSoon(): void {
    if (this.#bytes >= flushAtBytes) this.#startWriting();
    else this.#timer ??= setTimeout(() => this.#startWriting(), flushAfterMs);
  }

  #take(count: number): LogRow[] {
    const taken = this.#lines.splice(0, count);
    for (const row of taken) this.#bytes -= bytesOf(row);
    return taken;
  }

  async #write(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const batch = this.#take(batchMax);
    try {
      if (batch.length > 0) await writeLogs(this.#tx, batch);
    } catch (error) {
      this.#log.warn("lines of jobs could not be kept with them; they are on standard output", {
        lines: batch.length,
        error,
      });
    } finally {
      this.#writing = null;
      // The timer may have fired meanwhile, in vain.
      if (this.#timer !== null) clearTimeout(this.#timer);
      this.#timer = null;
      if (this.#lines.length > 0) this.#writeSoon();
    }
  }

  #dropOldest(): void {
    const dropped = this.#take(Math.ceil(this.#lines.length / 2)).length;
    this.#log.warn("too many lines of jobs wait to be kept; the oldest were dropped", { lines: dropped });
  }
}

function bytesOf(row: LogRow): number {
  return row.message.length + (row.fields?.length ?? 0) + 100;
}
