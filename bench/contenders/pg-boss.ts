// pg-boss with its batching, burst and LISTEN/NOTIFY switched on; the sizes are the best of those we tried.

import { PgBoss } from "pg-boss";
import type { Consumer, Contender, Producer } from "../contender.ts";
import { installedVersion } from "./version.ts";

const queue = "noop";
const workersPage = "pgboss.io, “Workers”: work()";

/** Maintenance and cron are off in both processes: they could only cost pg-boss time. */
const common = { supervise: false, schedule: false, useListenNotify: true };

const work = {
  batchSize: 2000,
  localConcurrency: 2,
  burstWhenBatchFull: true,
  pollingIntervalSeconds: 0.5,
};

async function open(databaseUrl: string): Promise<PgBoss> {
  const boss = new PgBoss({ connectionString: databaseUrl, ...common });
  boss.on("error", (error) => console.error(error));
  await boss.start();
  return boss;
}

async function openProducer(databaseUrl: string): Promise<Producer> {
  const boss = await open(databaseUrl);
  return {
    enqueue: async (job) => {
      await boss.send(queue, { n: job.number });
    },
    enqueueMany: async (jobs) => {
      await boss.insert(
        queue,
        jobs.map((job) => ({ data: { n: job.number } })),
      );
    },
    close: () => boss.stop({ graceful: false }),
  };
}

async function openConsumer(databaseUrl: string, onStart: (jobNumber: number) => void): Promise<Consumer> {
  const boss = await open(databaseUrl);
  return {
    start: async () => {
      await boss.work<{ n: number }>(queue, work, async (jobs) => {
        for (const job of jobs) onStart(job.data.n);
      });
    },
    stop: () => boss.stop({ graceful: true }),
  };
}

export const pgBoss: Contender = {
  name: "pg-boss",
  version: installedVersion("pg-boss"),
  settings: [
    {
      name: "batchSize",
      value: "2000",
      source: `${workersPage}; the page names no size: best of 100, 500, 1000, 2000`,
    },
    { name: "localConcurrency", value: "2", source: `${workersPage}; best of 1, 2, 4` },
    { name: "burstWhenBatchFull", value: "true", source: workersPage },
    { name: "pollingIntervalSeconds", value: "0.5, the least allowed", source: workersPage },
    {
      name: "useListenNotify, queue's notify",
      value: "true",
      source: "the same, “Low-latency dispatch with LISTEN/NOTIFY”",
    },
    { name: "supervise, schedule", value: "false", source: "ours: no maintenance beside the measurement" },
    { name: "bulk enqueue", value: "insert()", source: "pgboss.io, “Jobs”: insert()" },
  ],
  unsettledSql: "select exists (select from pgboss.job where state < 'completed')",
  doneSql: "select count(*)::int from pgboss.job where state = 'completed'",
  install: async (databaseUrl) => {
    const boss = await open(databaseUrl);
    await boss.createQueue(queue, { notify: true });
    await boss.stop({ graceful: false });
  },
  openProducer,
  openConsumer,
};
