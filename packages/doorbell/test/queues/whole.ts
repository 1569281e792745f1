// A queue in its place: jobs are enqueued, the ringer hands their doorbells over, and a worker receives them.
import { expect } from "vitest";
import { z } from "zod";
import { defineJob, handle } from "../../src/index.ts";
import { eventually, Stage } from "../support.ts";
import { tell } from "./figures.ts";

/** Jobs of several tenants reach their handlers, each once, without help from the sweeper. */
export async function runThrough(queueUrl: string): Promise<void> {
  await using stage = await Stage.open();
  const doorbell = await stage.client({ queue: queueUrl });
  const ran: unknown[] = [];
  const greet = defineJob({ kind: "greet", payload: z.object({ n: z.number() }) });
  const handler = handle(greet, async (job) => void ran.push(job.payload.n));
  await stage.worker(doorbell, [handler], { sweepEvery: "10m" });
  const numbers = Array.from({ length: 60 }, (_, n) => n);
  await Promise.all(numbers.map((n) => doorbell.enqueue(greet, { n }, { tenant: `tenant-${n % 3}` })));
  await eventually("every job has run", () => ran.length >= numbers.length);
  expect([...ran].sort((a, b) => Number(a) - Number(b))).toEqual(numbers);
  tell(doorbell.client.queue.name, `${numbers.length} jobs at once, without the sweeper`, numbers.length);
}
