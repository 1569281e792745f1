// `bulk`: how fast one process enqueues when it hands over many jobs at a time, nobody working meanwhile.

import { monotonicMs } from "../clock.ts";
import type { ContenderName } from "../contenders/index.ts";
import type { Case, Figures, Part, Row, Stage } from "../row.ts";
import { batchesOf, variantOf, type Workload } from "./jobs.ts";

/** Enqueues the whole workload; its first batch, not timed, opens connections and warms caches. */
const enqueuePart: Part<Workload, { readonly jobs: number; readonly elapsedMs: number }> = {
  name: "bulk.enqueue",
  run: async ({ contender, databaseUrl }, workload) => {
    const producer = await contender.openProducer(databaseUrl);
    const [first = [], ...batches] = batchesOf(workload);
    await producer.enqueueMany(first);
    const beganAt = monotonicMs();
    for (const batch of batches) await producer.enqueueMany(batch);
    const elapsedMs = monotonicMs() - beganAt;
    await producer.close();
    return { jobs: workload.jobs - first.length, elapsedMs };
  },
};

async function measure(stage: Stage, contender: ContenderName, workload: Workload): Promise<Figures> {
  const producer = stage.spawn(contender);
  await stage.freshDatabase(contender);
  await stage.settleDatabase(contender);
  const { jobs, elapsedMs } = await producer.run(enqueuePart, workload);
  return { jobsPerSecond: (jobs / elapsedMs) * 1000 };
}

function cases(quick: boolean): readonly Case[] {
  const jobs = quick ? 30_000 : 100_000;
  const oneCase = (contender: ContenderName, tenants: number): Case => ({
    contender,
    variant: variantOf(tenants),
    measure: (stage) => measure(stage, contender, { jobs, tenants }),
  });
  return [oneCase("doorbell", 1), oneCase("doorbell", 10_000), oneCase("graphile-worker", 1), oneCase("pg-boss", 1)];
}

export const bulkRow: Row = {
  name: "bulk",
  title: "enqueue in bulk, 5,000 jobs a call, one process",
  columns: [{ figure: "jobsPerSecond", heading: "jobs/s", digits: 0 }],
  comparisons: [
    { name: "bulk", figure: "jobsPerSecond", better: "higher", ours: "", theirs: "" },
    { name: "bulk-10000", figure: "jobsPerSecond", better: "higher", ours: variantOf(10_000), theirs: "" },
  ],
  parts: [enqueuePart],
  cases,
};
