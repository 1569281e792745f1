// graphile-worker at the settings of its own performance page; and again with a far larger local queue, which no page of
// its own recommends (a worker that dies keeps so many jobs locked for four hours), but which is its fastest here.

import { Logger, makeWorkerUtils, type Runner, run, type WorkerUtils } from "graphile-worker";
import pg from "pg";
import type { BenchJob, Consumer, Contender, Producer } from "../contender.ts";
import { installedVersion } from "./version.ts";

const performancePage = "worker.graphile.org/docs/performance, “Quick stats”";
const silent = new Logger(() => () => {});
const task = "noop";

/** Without the page's `localQueue.size`. A `refetchDelay` stays unset, as there: it would cost latency. */
const worker = { concurrentJobs: 24, maxPoolSize: 25, completeJobBatchDelay: 0, failJobBatchDelay: 0 };

function openPool(databaseUrl: string): pg.Pool {
  return new pg.Pool({ connectionString: databaseUrl, max: worker.maxPoolSize }).on("error", console.error);
}

async function openProducer(databaseUrl: string): Promise<Producer> {
  const pgPool = openPool(databaseUrl);
  const utils: WorkerUtils = await makeWorkerUtils({ pgPool, logger: silent });
  return {
    enqueue: async (job) => {
      await utils.addJob(task, { n: job.number });
    },
    // The SQL function itself, and not `utils.addJobs`, which also sends every row back: the faster of the two.
    enqueueMany: async (jobs) => {
      await pgPool.query(
        `select 1 from graphile_worker.add_jobs(
           array(select json_populate_recordset(null::graphile_worker.job_spec, $1::json)))`,
        [JSON.stringify(jobs.map(toJobSpec))],
      );
    },
    close: async () => {
      await utils.release();
      await pgPool.end();
    },
  };
}

function toJobSpec(job: BenchJob): object {
  return { identifier: task, payload: { n: job.number } };
}

function contenderWith(name: string, localQueueSize: number, sizeSource: string): Contender {
  const preset = { worker: { ...worker, localQueue: { size: localQueueSize } } };

  async function openConsumer(databaseUrl: string, onStart: (jobNumber: number) => void): Promise<Consumer> {
    const pgPool = openPool(databaseUrl);
    const taskList = { [task]: (payload: unknown): void => onStart((payload as { n: number }).n) };
    let runner: Runner | undefined;
    return {
      start: async () => {
        runner = await run({ preset, pgPool, logger: silent, noHandleSignals: true, taskList });
      },
      stop: async () => {
        await runner?.stop();
        await pgPool.end();
      },
    };
  }

  return {
    name,
    version: installedVersion("graphile-worker"),
    settings: [
      { name: "concurrentJobs", value: "24", source: performancePage },
      { name: "maxPoolSize", value: "25", source: performancePage },
      { name: "localQueue.size", value: `${localQueueSize}`, source: sizeSource },
      { name: "completeJobBatchDelay, failJobBatchDelay", value: "0", source: performancePage },
      {
        name: "bulk enqueue",
        value: "graphile_worker.add_jobs in SQL",
        source: "worker.graphile.org/docs/sql-add-job",
      },
      { name: "log", value: "off", source: "ours: it would write a line for every job" },
    ],
    unsettledSql: "select exists (select from graphile_worker._private_jobs)",
    doneSql: null,
    install: async (databaseUrl) => {
      const utils = await makeWorkerUtils({ connectionString: databaseUrl, logger: silent });
      await utils.migrate();
      await utils.release();
    },
    openProducer,
    openConsumer,
  };
}

export const graphileWorker: Contender = contenderWith("graphile-worker", 500, performancePage);

export const graphileWorkerTuned: Contender = contenderWith(
  "graphile-worker-tuned",
  4000,
  "ours: faster than 500, 1000 and 2000 here; nobody recommends it",
);
