// `process`: how fast one worker process gets through a queue that was filled before, its handlers doing nothing.
// From the moment when a quarter of the handlers have started, so that start-up and the compiler's warm-up are nobody's,
// until the last job is settled in the database.

import pg from "pg";
import { monotonicMs, pause } from "../clock.ts";
import type { ContenderName } from "../contenders/index.ts";
import type { Case, Figures, MachineSample, Part, Row, Stage } from "../row.ts";
import { createSignal } from "../signal.ts";
import { batchesOf, variantOf, type Workload } from "./jobs.ts";

const tenantCounts = [1, 100, 10_000];

export const fillPart: Part<Workload, null> = {
  name: "process.fill",
  run: async ({ contender, databaseUrl }, workload) => {
    const producer = await contender.openProducer(databaseUrl);
    for (const batch of batchesOf(workload)) await producer.enqueueMany(batch);
    await producer.close();
    return null;
  },
};

interface Drained {
  /** How many jobs were got through after the warm-up. */
  readonly jobs: number;
  readonly elapsedMs: number;
  readonly workerCpuMs: number;
}

const drainPart: Part<{ readonly jobs: number }, Drained> = {
  name: "process.drain",
  run: async ({ contender, databaseUrl, mark }, { jobs }) => {
    const database = new pg.Client(databaseUrl);
    await database.connect();
    const warmUp = Math.floor(jobs / 4);
    const starts = new Uint8Array(jobs);
    let started = 0;
    let beganAt = 0;
    let cpuBefore = process.cpuUsage();
    const allStarted = createSignal();
    const consumer = await contender.openConsumer(databaseUrl, (jobNumber) => {
      starts[jobNumber] = (starts[jobNumber] ?? 0) + 1;
      started += 1;
      if (started === warmUp) {
        beganAt = monotonicMs();
        cpuBefore = process.cpuUsage();
        mark("measuring");
      }
      if (started === jobs) allStarted.raise();
    });
    await consumer.start();
    await allStarted.raised;
    while (await holds(database, contender.unsettledSql)) await pause(2);
    const elapsedMs = monotonicMs() - beganAt;
    const cpu = process.cpuUsage(cpuBefore);
    mark("measured");
    const other = starts.findIndex((count) => count !== 1);
    if (other !== -1) throw new Error(`job ${other} was started ${starts[other]} times`);
    if (contender.doneSql !== null) {
      const { rows } = await database.query({ text: contender.doneSql, rowMode: "array" });
      if (rows[0]?.[0] !== jobs) throw new Error(`${rows[0]?.[0]} of ${jobs} jobs ended well`);
    }
    await database.end();
    return { jobs: jobs - warmUp, elapsedMs, workerCpuMs: (cpu.user + cpu.system) / 1000 };
  },
};

async function holds(database: pg.Client, sql: string): Promise<boolean> {
  const { rows } = await database.query({ text: sql, rowMode: "array" });
  return rows[0]?.[0] === true;
}

export async function measureProcess(stage: Stage, contender: ContenderName, workload: Workload): Promise<Figures> {
  const producer = stage.spawn(contender);
  const worker = stage.spawn(contender);
  await stage.freshDatabase(contender);
  await producer.run(fillPart, workload);
  await producer.close();
  await stage.settleDatabase(contender);
  const samples: Promise<MachineSample>[] = [];
  const drained = await worker.run(drainPart, { jobs: workload.jobs }, () => samples.push(stage.sample()));
  const [before, after] = await Promise.all(samples);
  if (before === undefined || after === undefined) throw new Error("the worker did not say when it began and ended");
  return {
    jobsPerSecond: (drained.jobs / drained.elapsedMs) * 1000,
    workerCpuUs: (drained.workerCpuMs / drained.jobs) * 1000,
    walBytes: (after.walBytes - before.walBytes) / drained.jobs,
    ...cpuFigures(before, after, drained),
  };
}

/** What the server and everyone else used meanwhile; nothing where the operating system does not tell. */
function cpuFigures(before: MachineSample, after: MachineSample, { jobs, workerCpuMs }: Drained): Figures {
  if (before.serverCpuMs === null || after.serverCpuMs === null) return {};
  if (before.machineCpuMs === null || after.machineCpuMs === null) return {};
  const serverCpuMs = after.serverCpuMs - before.serverCpuMs;
  const otherCpuMs = after.machineCpuMs - before.machineCpuMs - serverCpuMs - workerCpuMs;
  return {
    serverCpuUs: (serverCpuMs / jobs) * 1000,
    cpuUs: ((serverCpuMs + workerCpuMs) / jobs) * 1000,
    otherCores: Math.max(0, otherCpuMs / (after.atMs - before.atMs)),
  };
}

export function processCase(contender: ContenderName, tenants: number, quick: boolean): Case {
  const jobs = quick ? 40_000 : 60_000;
  return {
    contender,
    variant: variantOf(tenants),
    measure: (stage) => measureProcess(stage, contender, { jobs, tenants }),
  };
}

export const processRow: Row = {
  name: "process",
  title: "no-op jobs through one worker process, the queue filled before",
  columns: [
    { figure: "jobsPerSecond", heading: "jobs/s", digits: 0 },
    { figure: "workerCpuUs", heading: "worker µs/job", digits: 1 },
    { figure: "serverCpuUs", heading: "Postgres µs/job", digits: 1 },
    { figure: "walBytes", heading: "WAL B/job", digits: 0 },
    { figure: "otherCores", heading: "others' cores", digits: 2 },
  ],
  comparisons: [
    ...tenantCounts.map((tenants) => ({
      name: tenants === 1 ? "process" : `process-${tenants}`,
      figure: "jobsPerSecond",
      better: "higher" as const,
      ours: variantOf(tenants),
      theirs: "",
    })),
    // Steadier than the rate while something else runs on the machine: what a job costs, worker and server together.
    { name: "process-cpu", figure: "cpuUs", better: "lower", ours: "", theirs: "" },
  ],
  parts: [fillPart, drainPart],
  cases: (quick) => [
    ...tenantCounts.map((tenants) => processCase("doorbell", tenants, quick)),
    processCase("graphile-worker", 1, quick),
    processCase("graphile-worker-tuned", 1, quick),
    processCase("pg-boss", 1, quick),
  ],
};
