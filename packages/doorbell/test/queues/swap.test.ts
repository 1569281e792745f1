// Changing the queue while it works: the setting is changed and the worker restarted, and nobody empties anything. What the
// queues before have kept is found missing, and comes to nothing when they are used again.
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { type Doorbell, defineJob, handle } from "../../src/index.ts";
import { eventually, Stage } from "../support.ts";
import { type BrokerServer, brokers } from "./brokers.ts";
import { isLong, Runs, seconds, tell } from "./figures.ts";

const greet = defineJob({ kind: "greet" });
const needed = brokers.filter(({ name }) => name === "redis" || name === "nats");
const missing = needed.filter(({ isThere }) => !isThere() && process.env["CI"] !== "true");
const jobs = isLong ? 5_000 : 600;

test.skipIf(missing.length > 0)(
  "from redis to nats to postgres and back to redis under load: every job is done, and none twice",
  { timeout: 180_000 },
  async () => {
    const servers: BrokerServer[] = [];
    try {
      for (const { start } of needed) servers.push(await start());
      await swapThrough(servers.map((server) => server.broker().url));
    } finally {
      await Promise.all(servers.map((server) => server.close()));
    }
  },
);

async function swapThrough(brokerUrls: readonly string[]): Promise<void> {
  await using stage = await Stage.open();
  const [redis = "", nats = ""] = brokerUrls;
  const urls = [redis, nats, "postgres:", redis];
  const runs = new Runs();
  const handler = handle(greet, async (job) => {
    runs.count(job);
    await delay(5);
  });
  const ids: string[] = [];
  const enqueue = async (doorbell: Doorbell, count: number): Promise<void> => {
    const batch = Array.from({ length: count }, (_, n) => ({ job: greet, tenant: `tenant-${n % 7}` }));
    ids.push(...(await doorbell.enqueueMany(batch)).map(({ id }) => id));
  };
  const startedAt = performance.now();
  const leftBehind: number[] = [];
  for (const [step, queue] of urls.entries()) {
    const doorbell = await stage.client({ queue });
    await enqueue(doorbell, Math.ceil(jobs / urls.length));
    const worker = await stage.worker(doorbell, [handler], { concurrency: 20, sweepEvery: "5s" });
    if (step === urls.length - 1) break;
    await eventually("some of it to run", () => runs.size >= ids.length - jobs / urls.length / 2, 60_000);
    await worker.drain();
    const [{ n = 0 } = {}] = await stage.db.query<{ n: number }>(
      "select count(*)::int as n from doorbell.rung where not lost",
    );
    leftBehind.push(n);
  }
  await eventually("all to be done", () => runs.size >= ids.length, 60_000);
  await eventually(
    "all to be on record",
    async () => (await stage.db.query("select from doorbell.jobs limit 1")).length === 0,
  );
  await delay(1_500); // what redis had kept from the first time has been received by then
  runs.expectOnceEach(ids);
  expect(leftBehind[0]).toBeGreaterThan(0);
  tell(
    "changing queues",
    `redis, nats, postgres, redis: done in ${seconds(performance.now() - startedAt)}; ${leftBehind.join(", ")} doorbells were under way at each change`,
    ids.length,
  );
}
