// `latency`: from the call that enqueues a job to the start of its handler in another process, at light load: about a
// hundred jobs a second at uneven distances, sent whether or not the one before has started.
// Doorbell also in the caller's own transaction, there from the return of COMMIT.

import { monotonicMs, pause } from "../clock.ts";
import type { Producer } from "../contender.ts";
import type { ContenderName } from "../contenders/index.ts";
import type { Case, Figures, Part, Row, Stage } from "../row.ts";
import { createSignal } from "../signal.ts";
import { quantile } from "../statistics.ts";

const warmUp = 20;
/** The worker has said that it takes jobs; its first polls, listeners and caches come to rest in this time. */
const settleMs = 500;

/** How a job is sent: by itself, or in a transaction of the caller's, who then rings or leaves it to the look-out. */
type Sending = "alone" | "caller's transaction" | "caller's transaction, then ring()";

interface Course {
  readonly sending: Sending;
  readonly first: number;
  readonly count: number;
}

/** The instants at which job `first`, `first` + 1, … was sent. */
const sendPart: Part<Course, readonly number[]> = {
  name: "latency.send",
  run: async ({ contender, databaseUrl }, { sending, first, count }) => {
    const producer = await contender.openProducer(databaseUrl);
    const sentAt: Promise<number>[] = [];
    for (let offset = 0; offset < count; offset += 1) {
      await pause(5 + Math.random() * 10);
      sentAt.push(send(producer, sending, first + offset));
    }
    const instants = await Promise.all(sentAt);
    await producer.close();
    return instants;
  },
};

async function send(producer: Producer, sending: Sending, number: number): Promise<number> {
  const job = { tenant: "tenant-0", number };
  if (sending === "alone") {
    const sentAt = monotonicMs();
    await producer.enqueue(job);
    return sentAt;
  }
  if (producer.enqueueInTransaction === undefined) throw new Error("this contender has no enqueue in a transaction");
  return producer.enqueueInTransaction(job, { ring: sending !== "caller's transaction" });
}

/** The instants at which the handlers of jobs 0, 1, … started. */
const receivePart: Part<{ readonly count: number }, readonly number[]> = {
  name: "latency.receive",
  run: async ({ contender, databaseUrl, mark }, { count }) => {
    const startedAt = new Array<number>(count);
    let started = 0;
    const allStarted = createSignal();
    const consumer = await contender.openConsumer(databaseUrl, (jobNumber) => {
      if (startedAt[jobNumber] !== undefined) return;
      startedAt[jobNumber] = monotonicMs();
      started += 1;
      if (started === count) allStarted.raise();
    });
    await consumer.start();
    await pause(settleMs);
    mark("ready");
    await allStarted.raised;
    return startedAt;
  },
};

export async function measureLatency(
  stage: Stage,
  contender: ContenderName,
  sending: Sending,
  samples: number,
): Promise<Figures> {
  const producer = stage.spawn(contender);
  const worker = stage.spawn(contender);
  await stage.freshDatabase(contender);
  await stage.settleDatabase(contender);
  const count = warmUp + samples;
  const ready = createSignal();
  const receiving = worker.run(receivePart, { count }, () => ready.raise());
  await Promise.race([ready.raised, receiving]);
  const sentAt = await producer.run(sendPart, { sending, first: 0, count });
  const startedAt = await receiving;
  await Promise.all([producer.close(), worker.close()]);
  const latencies = sentAt.map((sent, index) => (startedAt[index] ?? Number.NaN) - sent).slice(warmUp);
  return { p50Ms: quantile(latencies, 0.5), p99Ms: quantile(latencies, 0.99) };
}

function cases(quick: boolean): readonly Case[] {
  const samples = quick ? 150 : 1000;
  const oneCase = (contender: ContenderName, sending: Sending): Case => ({
    contender,
    variant: sending === "alone" ? "" : sending,
    measure: (stage) => measureLatency(stage, contender, sending, samples),
  });
  return [
    oneCase("doorbell", "alone"),
    oneCase("graphile-worker", "alone"),
    oneCase("pg-boss", "alone"),
    oneCase("doorbell", "caller's transaction"),
    oneCase("doorbell", "caller's transaction, then ring()"),
  ];
}

export const latencyRow: Row = {
  name: "latency",
  title: "enqueue to handler start at light load; in the caller's transaction from the return of COMMIT",
  columns: [
    { figure: "p50Ms", heading: "p50 ms", digits: 2 },
    { figure: "p99Ms", heading: "p99 ms", digits: 2 },
  ],
  comparisons: [
    { name: "latency-p50", figure: "p50Ms", better: "lower", ours: "", theirs: "" },
    { name: "latency-p99", figure: "p99Ms", better: "lower", ours: "", theirs: "" },
  ],
  parts: [sendPart, receivePart],
  cases,
};
