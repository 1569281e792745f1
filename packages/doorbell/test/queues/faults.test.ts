// Whole systems on each queue while it fails: the sweeper off, the broker emptied, deleted, away, full of junk, or with nobody
// behind it. The handlers' runs are counted, and what is in the broker is asked of the broker. `npm run test:queues` has the
// longer forms, and DOORBELL_TEST_QUEUE=redis is one queue alone.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defineJob, fixed, handle, newId } from "../../src/index.ts";
import type { QueueDriver } from "../../src/queue/driver.ts";
import { junk } from "../../src/testing/queue-suite.ts";
import { eventually, Stage } from "../support.ts";
import { type Broker, type BrokerServer, brokers } from "./brokers.ts";
import { isLong, Runs, seconds, tell } from "./figures.ts";
import { Processes } from "./processes.ts";

const greet = defineJob({ kind: "greet" });
const sweepMs = 5_000; // the default
const only = process.env["DOORBELL_TEST_QUEUE"];
const wanted = brokers.filter(({ name }) => only === undefined || only === name);
const runnable = wanted.filter(({ isThere }) => isThere() || process.env["CI"] === "true");
const servers = new Map<string, BrokerServer>();

const openJobs = async (stage: Stage): Promise<number> =>
  (await stage.db.query<{ n: number }>("select count(*)::int as n from doorbell.jobs"))[0]?.n ?? -1;
const allDone = (stage: Stage, withinMs = 120_000): Promise<true> =>
  eventually("all to be done", async () => (await openJobs(stage)) === 0, withinMs);
const many = (count: number) => Array.from({ length: count }, (_, n) => ({ job: greet, tenant: `tenant-${n % 7}` }));
const idsOf = (receipts: readonly { readonly id: string }[]): readonly string[] => receipts.map(({ id }) => id);
const brokerOf = (name: string): Broker => {
  const server = servers.get(name);
  if (server === undefined) throw new Error(`no server of ${name} runs`);
  return server.broker();
};

beforeAll(async () => {
  await Promise.all(runnable.map(async ({ name, start }) => void servers.set(name, await start())));
}, 90_000);
afterAll(async () => {
  await Promise.all([...servers.values()].map((server) => server.close()));
});

// The kinds beside each other, since most of it is waiting; the cases of one after each other, since they stop its server.
for (const { name } of wanted) {
  describe.concurrent(name, { timeout: 240_000 }, () => {
    describe.skipIf(!runnable.some((kind) => kind.name === name))(
      name === "sqs" ? "its emulator" : `its server (Debian's ${name}-server)`,
      () => {
        test(
          "without any sweep: what psql enqueues, a retry after 2 s and a job due in 3 s start",
          {
            concurrent: false,
          },
          () => startsWithoutSweeps(name, brokerOf(name).url),
        );

        for (const [how, lose] of [
          ["emptied", (broker: Broker) => broker.purge()],
          ["deleted", (broker: Broker) => broker.remove()],
        ] as const)
          test(`${how} with 1,000 jobs queued and ten running, within one sweep all go on, none twice`, {
            concurrent: false,
          }, async (it) => {
            if (how === "emptied" && !isLong) it.skip("deleted is the harder case; npm run test:queues has both");
            await losesEverything(name, how, lose);
          });

        test(
          "away and back, idle and busy: enqueueing is quick, /readyz says so, and nobody restarts anything",
          {
            concurrent: false,
          },
          () => goesAway(name),
        );

        test(
          "swept twenty times behind no worker, it holds no more than two doorbells a job",
          {
            concurrent: false,
          },
          () => holdsFew(name),
        );
      },
    );
  });
}

for (const name of ["postgres", "memory"].filter((one) => only === undefined || only === one))
  test.concurrent(`${name}: without any sweep, what psql enqueues, a retry after 2 s and a job due in 3 s start`, () =>
    startsWithoutSweeps(name, `${name}:`));

// By itself, because this process's own time is measured.
for (const { name } of wanted)
  test.skipIf(!runnable.some((kind) => kind.name === name))(
    `${name}: junk of every shape is given out once, leaves the worker calm, and is not in the way of a good doorbell`,
    { timeout: 60_000 },
    () => survivesJunk(name),
  );

async function startsWithoutSweeps(name: string, url: string): Promise<void> {
  await using stage = await Stage.open();
  const doorbell = await stage.client({ queue: url });
  const startedAt = new Map<string, number>();
  const retried = defineJob({ kind: "retried", retry: { maxAttempts: 2, backoff: fixed({ base: "2s", jitter: 0 }) } });
  const handlers = [
    handle(greet, (job) => void startedAt.set(job.id, performance.now())),
    handle(retried, (job) => {
      if (job.attempt === 1) throw new Error("not yet");
      startedAt.set(job.id, performance.now());
    }),
  ];
  await stage.worker(doorbell, handlers, { sweepEvery: "1h" });
  const enqueuedAt = performance.now();
  const [psql] = await stage.db.query<{ id: string }>("select job_id as id from doorbell.enqueue('globex', 'greet')");
  const later = await doorbell.enqueue(greet, {}, { tenant: "acme", runAfter: "3s" });
  const again = await doorbell.enqueue(retried, {}, { tenant: "acme" });
  const took = async (id: string | undefined): Promise<number> =>
    (await eventually("its start", () => startedAt.get(id ?? ""))) - enqueuedAt;
  const [psqlMs, againMs, laterMs] = [await took(psql?.id), await took(again.id), await took(later.id)];
  tell(name, `no sweep: psql ${seconds(psqlMs)}, retry ${seconds(againMs)}, due in 3 s ${seconds(laterMs)}`, 3);
  expect(psqlMs).toBeLessThan(4_000);
  expect(againMs).toBeGreaterThan(1_900);
  expect(againMs).toBeLessThan(6_000);
  expect(laterMs).toBeGreaterThan(2_900);
  expect(laterMs).toBeLessThan(7_000);
}

async function losesEverything(name: string, how: string, lose: (broker: Broker) => Promise<void>): Promise<void> {
  await using stage = await Stage.open();
  const broker = brokerOf(name);
  const doorbell = await stage.client({ queue: broker.url });
  const runs = new Runs();
  const gates: (() => void)[] = [];
  let gated = true;
  const handler = handle(greet, async (job) => {
    runs.count(job);
    if (gated) await new Promise<void>((resolve) => void gates.push(resolve));
  });
  await stage.worker(doorbell, [handler], { concurrency: 10, sweepEvery: sweepMs, lease: "30s" });
  const receipts = await doorbell.enqueueMany(many(1_010));
  await eventually("ten to run", () => gates.length === 10);
  const held = await eventually("the broker to be full", async () => {
    const depth = await broker.depth();
    return depth > 50 && depth;
  });
  await lose(broker);
  gated = false;
  const lostAt = performance.now();
  for (const gate of gates) gate();
  const resumedMs =
    (await eventually("a job to start", () => runs.size > 10 && performance.now(), 2 * sweepMs + 10_000)) - lostAt;
  await allDone(stage);
  const tookMs = performance.now() - lostAt;
  runs.expectOnceEach(idsOf(receipts));
  tell(
    name,
    `${how} with ${held} doorbells in it: goes on after ${seconds(resumedMs)}, done after ${seconds(tookMs)}`,
    1_010,
  );
  // A sweep, the pause of a receiver that had an error, and the work.
  if (isLong) expect(tookMs).toBeLessThan(2 * sweepMs + 10_000);
}

async function goesAway(name: string): Promise<void> {
  const server = servers.get(name);
  if (server === undefined) throw new Error("its server runs");
  await using stage = await Stage.open();
  const runs = new Runs();
  let workMs = 0;
  const handler = handle(greet, async (job) => {
    runs.count(job);
    await delay(workMs);
  });
  await using processes = new Processes({ database: stage.db, queueUrl: brokerOf(name).url, handlers: [handler] });
  const worker = await processes.start("worker");
  const web = await processes.start("web");
  const ids: string[] = [];
  const enqueueMs: number[] = [];
  const enqueue = async (): Promise<void> => {
    const startedAt = performance.now();
    ids.push((await web.doorbell.enqueue(greet, {}, { tenant: `tenant-${ids.length % 7}` })).id);
    enqueueMs.push(performance.now() - startedAt);
  };
  const everyoneDone = () => eventually("all to be done", async () => runs.size === ids.length, 60_000);
  for (let n = 0; n < 20; n += 1) await enqueue();
  await everyoneDone();
  for (const { ready } of [worker, web]) expect(await ready()).toEqual({ status: 200, reasons: [] });

  const awayMs = isLong ? 30_000 : 5_000;
  // This one takes many seconds to start.
  const idleToo = isLong || name !== "rabbitmq";
  const back: string[] = [];
  let told = 0;
  for (const busy of idleToo ? [false, true] : [true]) {
    if (busy) {
      workMs = 200;
      ids.push(...idsOf(await web.doorbell.enqueueMany(many(300))));
      await eventually("some to run", async () => runs.size > ids.length - 300);
    }
    await server.stop();
    if (busy) expect(await openJobs(stage)).toBeGreaterThan(50);
    const awayUntil = performance.now() + awayMs;
    const worry = await eventually("the worker to say so", async () => {
      const { status, reasons } = await worker.ready();
      return status === 503 && reasons.find((reason) => reason.startsWith(`queue ${name}: `));
    });
    expect(worry).toContain(name);
    for (let n = 0; performance.now() < awayUntil; n += 1) {
      if (busy || n < 10) await enqueue();
      expect(await web.ready()).toEqual({ status: 200, reasons: [] });
      await delay(200);
    }
    await server.start();
    const backAt = performance.now();
    const isReady = eventually("the worker to be ready", async () => (await worker.ready()).status === 200, 30_000);
    await isReady.catch(async () => expect(await worker.ready()).toEqual({ status: 200, reasons: [] })); // says why
    await everyoneDone();
    back.push(`${seconds(performance.now() - backAt)} (${busy ? "busy" : "idle"})`);
    // Nothing is told again and again, and who reads it knows which queue it is.
    for (const { lines } of [web, worker]) {
      const failures = lines.filter((line) => String(line["message"]).startsWith("ringer failed"));
      expect(failures.length).toBeLessThanOrEqual(back.length);
      for (const line of failures) expect(JSON.stringify(line)).toContain(name);
      told += failures.length;
    }
    // Behind a busy worker the window may be full, and nobody tries to ring.
    if (!busy) expect(told).toBeGreaterThan(0);
    const unheard = worker.lines.filter((line) => String(line["message"]).startsWith("nothing could be received"));
    expect(unheard.length).toBeGreaterThan(0);
    expect(unheard.length).toBeLessThanOrEqual(2 * back.length);
    for (const line of unheard) expect(line["queue"]).toBe(name);
  }
  await allDone(stage);
  runs.expectOnceEach(ids);
  const slowestMs = Math.max(...enqueueMs);
  tell(
    name,
    `away for ${seconds(awayMs)}: all done ${back.join(" and ")} after it was back; slowest enqueue ${Math.round(slowestMs)} ms`,
    ids.length,
  );
  expect(slowestMs).toBeLessThan(2_000);
}

async function holdsFew(name: string): Promise<void> {
  await using stage = await Stage.open();
  const broker = brokerOf(name);
  const doorbell = await stage.client({ queue: broker.url });
  const jobs = isLong ? 20_000 : 3_000;
  for (let at = 0; at < jobs; at += 1_000) await doorbell.enqueueMany(many(1_000));
  await stage.db.query("update doorbell.jobs set run_after = run_after - interval '1 minute'");
  const maintenance = doorbell.maintenance({ sweepEvery: "100ms" });
  maintenance.start();
  const sweeps = await eventually(
    "twenty sweeps",
    async () => {
      const { body } = await doorbell.metrics.expose();
      const count = Number(/^doorbell_sweeper_seconds_count (\d+)$/m.exec(body)?.[1]);
      return count >= 20 && count;
    },
    120_000,
  );
  await maintenance.stop();
  const depth = await broker.depth();
  tell(name, `${jobs.toLocaleString("en")} jobs, no worker, ${sweeps} sweeps: ${depth} doorbells in it`, 0);
  expect(depth).toBeGreaterThan(0);
  expect(depth).toBeLessThanOrEqual(100); // the window, so far below two a job
}

async function survivesJunk(name: string): Promise<void> {
  await using stage = await Stage.open();
  const broker = brokerOf(name);
  let given = 0;
  const counting = (driver: QueueDriver): QueueDriver => ({
    ...driver,
    receive: async (request) => {
      const deliveries = await driver.receive(request);
      given += deliveries.length;
      return deliveries;
    },
  });
  const doorbell = await stage.client({ queue: broker.url, wrapQueue: counting });
  const runs = new Runs();
  const startedAt = new Map<string, number>();
  const handler = handle(greet, (job) => {
    runs.count(job);
    startedAt.set(job.id, performance.now());
  });
  await stage.worker(doorbell, [handler], { sweepEvery: sweepMs });
  const first = await doorbell.enqueue(greet, {}, { tenant: "acme" });
  await eventually("the first to run", () => runs.size === 1);

  const good = newId();
  const injected: Uint8Array[] = [...junk.map(([, bytes]) => bytes), ...forgeries(good, first.id)];
  const taken = await broker.inject(Array.from({ length: 5 }, () => injected).flat());
  const before = process.cpuUsage();
  const injectedAt = performance.now();
  await eventually("the junk to be gone", async () => given > taken && (await broker.depth()) === 0, 20_000);
  await delay(isLong ? 5_000 : 2_000);
  const { user, system } = process.cpuUsage(before);
  const share = (user + system) / 1_000 / (performance.now() - injectedAt);
  const givenForJunk = given - 1;
  expect(runs.size).toBe(1);

  const enqueuedAt = performance.now();
  await doorbell.enqueue(greet, {}, { tenant: "acme", id: good });
  const goodMs = (await eventually("the good one to start", () => startedAt.get(good))) - enqueuedAt;
  runs.expectOnceEach([first.id, good]);
  const { body } = await doorbell.metrics.expose();
  const dropped = Number(/^doorbell_doorbells_dropped_total\{reason="junk"\} (\d+)$/m.exec(body)?.[1]);
  tell(
    name,
    `${taken} messages of junk: given out ${givenForJunk} times, ${Math.round(share * 100)} % of a core, then a job starts in ${Math.round(goodMs)} ms`,
    2,
  );
  expect(dropped).toBeGreaterThan(0);
  expect(givenForJunk).toBeLessThanOrEqual(2 * taken);
  expect(share).toBeLessThan(0.5);
  expect(goodMs).toBeLessThan(2_000);
}

/** Well formed, or nearly, and no job's doorbell: another tenant's, odd tenants, a job that nobody knows, one that is done. */
function forgeries(jobId: string, doneId: string): readonly Uint8Array[] {
  const tenants = ["mallory", 7, null, undefined, "a'b", "100%", "🙂", "x".repeat(10_000), "*", " ", "\u0000"];
  const forged = tenants.map((tenant) => ({ job_id: jobId, tenant_id: tenant }));
  const others = [
    { job_id: newId(), tenant_id: "acme" },
    { job_id: doneId, tenant_id: "acme" },
    { job_id: doneId, tenant_id: "acme", more: { than: ["there", "should", "be"] } },
    { tenant_id: "acme" },
    { job_id: [jobId], tenant_id: { acme: true } },
  ];
  return [...forged, ...others].map((value) => Buffer.from(JSON.stringify(value)));
}
