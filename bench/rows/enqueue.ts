// `enqueue`: how fast one process enqueues one job at a time, as a busy web tier does: twenty calls are always under way,
// and each counts when its job is durable. Nobody works meanwhile.

import { monotonicMs } from "../clock.ts";
import type { BenchJob, Producer } from "../contender.ts";
import type { ContenderName } from "../contenders/index.ts";
import type { Case, Figures, Part, Row, Stage } from "../row.ts";

const inFlight = 20;
/** The first calls open connections and warm caches: not timed. */
const warmUp = 1_000;

interface Calls {
  readonly what: "enqueue" | "request";
  readonly calls: number;
}

export const callsPart: Part<Calls, { readonly elapsedMs: number }> = {
  name: "enqueue.calls",
  run: async ({ contender, databaseUrl }, { what, calls }) => {
    const producer = await contender.openProducer(databaseUrl);
    let number = 0;
    const until = async (end: number): Promise<void> => {
      const loop = async (): Promise<void> => {
        while (number < end) {
          const job = { tenant: "tenant-0", number };
          number += 1;
          await callOf(producer, what)(job);
        }
      };
      await Promise.all(Array.from({ length: inFlight }, loop));
    };
    await until(warmUp);
    const beganAt = monotonicMs();
    await until(warmUp + calls);
    const elapsedMs = monotonicMs() - beganAt;
    await producer.close();
    return { elapsedMs };
  },
};

function callOf(producer: Producer, what: Calls["what"]): (job: BenchJob) => Promise<void> {
  if (what === "enqueue") return producer.enqueue;
  if (producer.request === undefined) throw new Error("this contender has no transaction of a tenant's");
  return producer.request;
}

async function measure(stage: Stage, contender: ContenderName, calls: Calls): Promise<Figures> {
  const producer = stage.spawn(contender);
  await stage.freshDatabase(contender);
  await stage.settleDatabase(contender);
  const { elapsedMs } = await producer.run(callsPart, calls);
  return { jobsPerSecond: (calls.calls / elapsedMs) * 1000 };
}

/** Requests of the web tier: each a transaction of one tenant's that reads a job and enqueues one. */
export function requestCase(contender: ContenderName, quick: boolean): Case {
  const calls: Calls = { what: "request", calls: quick ? 4_000 : 12_000 };
  return { contender, variant: requests, measure: (stage) => measure(stage, contender, calls) };
}

export const requests = "web requests";

export const enqueueRow: Row = {
  name: "enqueue",
  title: "enqueue one job at a time, 20 calls in flight, each durable when it resolves, one process",
  columns: [{ figure: "jobsPerSecond", heading: "jobs/s", digits: 0 }],
  comparisons: [{ name: "enqueue", figure: "jobsPerSecond", better: "higher", ours: "", theirs: "" }],
  parts: [callsPart],
  cases: (quick) =>
    (["doorbell", "doorbell-signed", "graphile-worker", "pg-boss"] as const).map((contender) => ({
      contender,
      variant: "",
      measure: (stage) => measure(stage, contender, { what: "enqueue", calls: quick ? 6_000 : 20_000 }),
    })),
};
