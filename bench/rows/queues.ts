// `queues`: Doorbell over each of its queues, the line in Postgres and the brokers: how long a doorbell is on its way at light
// load, and how fast one worker process gets through a line that was filled before. As in `latency` and `process`.

import type { BrokerName } from "../../packages/doorbell/test/servers/broker-servers.ts";
import type { ContenderName } from "../contenders/index.ts";
import type { Case, Figures, Row, Stage } from "../row.ts";
import { measureLatency } from "./latency.ts";
import { measureProcess } from "./process.ts";

async function measure(
  stage: Stage,
  contender: ContenderName,
  broker: BrokerName | null,
  quick: boolean,
): Promise<Figures> {
  const latency = await measureLatency(await over(stage, broker), contender, "alone", quick ? 150 : 1_000);
  const workload = { jobs: quick ? 10_000 : 30_000, tenants: 1 };
  const { jobsPerSecond = Number.NaN } = await measureProcess(await over(stage, broker), contender, workload);
  return { ...latency, jobsPerSecond };
}

/** The stage, where every process has the same fresh queue. */
async function over(stage: Stage, broker: BrokerName | null): Promise<Stage> {
  if (broker === null) return stage;
  const queueUrl = await stage.freshQueue(broker);
  return { ...stage, spawn: (contender) => stage.spawn(contender, { queueUrl }) };
}

const contenders: readonly (readonly [ContenderName, BrokerName | null])[] = [
  ["doorbell", null],
  ["doorbell-redis", "redis"],
  ["doorbell-nats", "nats"],
  ["doorbell-rabbitmq", "rabbitmq"],
  ["doorbell-sqs", "sqs"],
];

export const queuesRow: Row = {
  name: "queues",
  title: "Doorbell over each queue: enqueue to handler start at light load; no-op jobs, the line filled before",
  // It starts four servers, and alone takes as long as `--quick` may.
  onRequest: true,
  columns: [
    { figure: "p50Ms", heading: "p50 ms", digits: 2 },
    { figure: "p99Ms", heading: "p99 ms", digits: 2 },
    { figure: "jobsPerSecond", heading: "jobs/s", digits: 0 },
  ],
  comparisons: [
    { name: "queues-p50", figure: "p50Ms", better: "lower", ours: "", theirs: "" },
    { name: "queues-p99", figure: "p99Ms", better: "lower", ours: "", theirs: "" },
    { name: "queues", figure: "jobsPerSecond", better: "higher", ours: "", theirs: "" },
  ],
  parts: [],
  cases: (quick) =>
    contenders.map(
      ([contender, broker]): Case => ({
        contender,
        variant: "",
        measure: (stage) => measure(stage, contender, broker, quick),
      }),
    ),
};
