// What the tests of whole systems count and measure, told to `npm run test:queues` or, without it, to whoever watches.
import { appendFileSync } from "node:fs";
import { expect } from "vitest";
import type { AnyJob } from "../support.ts";

/** The long forms: larger numbers and longer outages, for `npm run test:queues`. */
export const isLong: boolean = process.env["DOORBELL_TEST_LONG"] === "1";

/** `queue`: the driver's name, or what the case is about if it is about several. `jobs`: done from end to end. */
export function tell(queue: string, text: string, jobs: number): void {
  const file = process.env["DOORBELL_TEST_FIGURES"];
  if (file === undefined) console.log(`${queue}: ${text} (${jobs.toLocaleString("en")} jobs)`);
  else appendFileSync(file, `${JSON.stringify({ queue, text, jobs })}\n`);
}

export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

/** Runs of handlers, by job. */
export class Runs {
  readonly byJob: Map<string, number> = new Map();

  count(job: Pick<AnyJob, "id">): void {
    this.byJob.set(job.id, (this.byJob.get(job.id) ?? 0) + 1);
  }

  get size(): number {
    return this.byJob.size;
  }

  /** Those and no others, none twice. */
  expectOnceEach(ids: readonly string[]): void {
    const odd = ids.filter((id) => this.byJob.get(id) !== 1).map((id) => [id, this.byJob.get(id) ?? 0]);
    expect(odd).toEqual([]);
    expect(this.byJob.size).toBe(ids.length);
  }
}
