// Very many jobs that cannot be worked on now: a million that are due next month, and a backlog behind busy workers. Neither
// makes sweeps or claims slower, nor is rung for again. Most of it takes minutes, and only `npm run test:queues` runs it.
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { type Doorbell, defineJob, handle } from "../../src/index.ts";
import type { QueueDriver } from "../../src/queue/driver.ts";
import { eventually, Stage } from "../support.ts";
import { type BrokerServer, brokers } from "./brokers.ts";
import { isLong, Runs, seconds, tell } from "./figures.ts";

const reason = "takes minutes: npm run test:queues";
const greet = defineJob({ kind: "greet" });
const chunk = 10_000;
const redis = brokers.find(({ name }) => name === "redis");
const haveRedis = redis !== undefined && (process.env["CI"] === "true" || redis.isThere());

test("a million jobs that are due next month make neither sweeps nor claims slower", {
  timeout: 900_000,
}, async (it) => {
  if (!isLong) it.skip(reason);
  await using stage = await Stage.open();
  const doorbell = await stage.client({ queue: "memory:" });
  const startedAt = new Map<string, number>();
  await stage.worker(doorbell, [handle(greet, (job) => void startedAt.set(job.id, performance.now()))], {
    sweepEvery: "5s",
  });
  const measure = async () => ({ sweepMs: await sweepMsOf(doorbell), claimMs: await claimMsOf(doorbell, startedAt) });
  await measure(); // warm
  const before = await measure();
  const jobs = 1_000_000;
  await enqueueForNextMonth(stage, jobs);
  await stage.db.query("analyze doorbell.jobs");
  const after = await measure();
  const [{ n = 0 } = {}] = await stage.db.query<{ n: number }>("select count(*)::int as n from doorbell.jobs");
  const text = (["sweepMs", "claimMs"] as const).map(
    (what) => `${before[what].toFixed(1)} → ${after[what].toFixed(1)} ms`,
  );
  tell(
    "volume",
    `${n.toLocaleString("en")} jobs due next month: a sweep ${text[0]}, from enqueue to start ${text[1]}`,
    60,
  );
  expect(n).toBe(jobs);
  // A few milliseconds more or less are the machine's.
  expect(after.sweepMs).toBeLessThan(3 * before.sweepMs + 30);
  expect(after.claimMs).toBeLessThan(3 * before.claimMs + 30);
});

test("a backlog of 100,000 behind busy workers is rung for once through ten sweeps, and goes on after its queue was wiped", {
  timeout: 900_000,
}, async (it) => {
  if (!isLong) it.skip(reason);
  if (redis === undefined || !haveRedis) it.skip("needs redis-server");
  const server = await (redis as NonNullable<typeof redis>).start();
  try {
    await backlog(server);
  } finally {
    await server.close();
  }
});

test("a look for alarms reads those that are due and none of the others", async () => {
  await using stage = await Stage.open();
  await enqueueForNextMonth(stage, 20_000);
  const read = async (): Promise<number> => {
    await stage.db.query("select pg_stat_force_next_flush()");
    const [{ n = 0 } = {}] = await stage.db.query<{ n: number }>(
      "select idx_tup_read::int as n from pg_stat_user_indexes where indexrelname = 'doorbells_alarms'",
    );
    return n;
  };
  /** A look is made every 16 ms at most. */
  const look = async (times: number): Promise<number> => {
    let taken = 0;
    for (let n = 0; n < times; n += 1) {
      await delay(20);
      taken += (await stage.db.query("select from doorbell.take('default', 100)")).length;
    }
    return taken;
  };
  const before = await read();
  expect(await look(20)).toBe(0);
  expect((await read()) - before).toBeLessThan(100);
  await stage.db.query(
    `update doorbell.doorbells set ring_at = clock_timestamp() + interval '10 ms'
      where ctid = any (array(select ctid from doorbell.doorbells limit 50))`,
  );
  expect(await look(20)).toBe(50);
  expect((await read()) - before).toBeGreaterThanOrEqual(50);
});

async function enqueueForNextMonth(stage: Stage, jobs: number): Promise<void> {
  for (let at = 0; at < jobs; at += chunk) {
    await stage.db.query(
      `select count(*) from doorbell.enqueue_many((select json_agg(json_build_object(
         'tenant', 'tenant-' || n % 100, 'kind', 'greet', 'run_after', now() + interval '30 days' + n * interval '1 s'))
         from generate_series($1::int, $1::int + $2::int - 1) n))`,
      [at, chunk],
    );
  }
}

async function backlog(server: BrokerServer): Promise<void> {
  await using stage = await Stage.open();
  const broker = server.broker();
  const sent: string[] = [];
  const counting = (driver: QueueDriver): QueueDriver => ({
    ...driver,
    send: async (lane, doorbells) => {
      sent.push(...doorbells.map(({ job_id }) => job_id));
      await driver.send(lane, doorbells);
    },
  });
  const doorbell = await stage.client({ queue: broker.url, wrapQueue: counting });
  const jobs = 100_000;
  for (let at = 0; at < jobs; at += chunk)
    await doorbell.enqueueMany(Array.from({ length: chunk }, (_, n) => ({ job: greet, tenant: `tenant-${n % 100}` })));
  await stage.db.query("update doorbell.jobs set run_after = run_after - interval '1 minute'");
  const runs = new Runs();
  const gates: (() => void)[] = [];
  let gated = true;
  const handler = handle(greet, async (job) => {
    runs.count(job);
    if (gated) await new Promise<void>((resolve) => void gates.push(resolve));
  });
  await stage.worker(doorbell, [handler], { concurrency: 10, sweepEvery: "500ms", lease: "30s" });
  await eventually("ten to run", () => gates.length === 10);
  const sweepsBefore = await sweepsOf(doorbell);
  await eventually("ten sweeps", async () => (await sweepsOf(doorbell)) >= sweepsBefore + 10, 300_000);
  const sweepMs = await sweepMsOf(doorbell);
  expect(new Set(sent).size).toBe(sent.length);
  expect(sent.length).toBeLessThanOrEqual(100 + 2 * 10 + 10); // the window, and what runs
  const rung = sent.length;

  const wiped = await broker.depth();
  await broker.remove();
  expect(wiped).toBeGreaterThan(50);
  gated = false;
  const wipedAt = performance.now();
  for (const gate of gates) gate();
  const resumedAt = await eventually("work to go on", () => runs.size > 10 && performance.now(), 20_000);
  await eventually("two thousand to run", () => runs.size > 2_000, 60_000);
  expect(Math.max(...runs.byJob.values())).toBe(1);
  tell(
    "volume",
    `100,000 queued, ten sweeps of ${sweepMs.toFixed(0)} ms: ${rung} doorbells rung, none again; wiped with ${wiped} in it, goes on after ${seconds(resumedAt - wipedAt)}`,
    runs.size,
  );
}

/** The median of five. */
async function sweepMsOf(doorbell: Doorbell): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < 5; n += 1) {
    const startedAt = performance.now();
    await doorbell.sweep();
    times.push(performance.now() - startedAt);
  }
  return median(times);
}

/** From before the enqueue to the handler; the median of twenty, one after the other. */
async function claimMsOf(doorbell: Doorbell, startedAt: ReadonlyMap<string, number>): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < 20; n += 1) {
    const enqueuedAt = performance.now();
    const { id } = await doorbell.enqueue(greet, {}, { tenant: `tenant-${n}` });
    times.push((await eventually("its start", () => startedAt.get(id))) - enqueuedAt);
  }
  return median(times);
}

async function sweepsOf(doorbell: Doorbell): Promise<number> {
  const { body } = await doorbell.metrics.expose();
  return Number(/^doorbell_sweeper_seconds_count (\d+)$/m.exec(body)?.[1]);
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
