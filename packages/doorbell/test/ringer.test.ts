// The ringer between the line and a queue of another kind: what is handed over and when, how much of it, and what becomes of
// what the queue refuses, loses or keeps for itself. The queue is one in this process that can be told to misbehave.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { type Doorbell, type DoorbellOptions, defineJob, fixed, handle } from "../src/index.ts";
import { sweepOnce } from "../src/maintenance/sweeper.ts";
import type { Doorbell as Bell, QueueDriver } from "../src/queue/driver.ts";
import { memoryDriver } from "../src/queue/memory.ts";
import { Database } from "../src/store/database.ts";
import { takeDoorbells } from "../src/store/maintenance.ts";
import { eventually, Stage } from "./support.ts";

const greet = defineJob({ kind: "greet" });
/** Nothing may depend on it. */
const withoutSweeps = { sweepEvery: "1h" } as const;

/** A queue that counts what it is sent, and that can be down, lossy, or wiped. */
class Broker {
  readonly sent: Bell[] = [];
  down = false;
  lossy = false;
  #driver: QueueDriver = memoryDriver();

  readonly options: Pick<DoorbellOptions, "queue" | "wrapQueue"> = {
    queue: "memory:",
    wrapQueue: (driver) => {
      this.#driver = driver;
      return {
        ...driver,
        // Other processes may be thought to receive from it.
        capabilities: { ...driver.capabilities, inProcess: false },
        send: async (lane, doorbells) => {
          if (this.down) throw new Error("connection refused");
          this.sent.push(...doorbells);
          if (!this.lossy) await driver.send(lane, doorbells);
        },
      };
    },
  };

  /** Everything in it is gone. */
  async wipe(): Promise<number> {
    const request = { lanes: ["default"], max: 100_000, waitMs: 1, signal: new AbortController().signal };
    return (await this.#driver.receive(request)).length;
  }
}

const openJobs = async (stage: Stage): Promise<number> =>
  (await stage.db.query<{ n: number }>("select count(*)::int as n from doorbell.jobs"))[0]?.n ?? -1;

const enqueueMany = (doorbell: Doorbell, count: number): Promise<unknown> =>
  doorbell.enqueueMany(Array.from({ length: count }, (_, n) => ({ job: greet, tenant: `tenant-${n % 7}` })));

test("without any sweep: what is enqueued here, in psql, for later, and for a retry starts", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client(new Broker().options);
  const startedAt = new Map<string, number>();
  const retried = defineJob({ kind: "retried", retry: { maxAttempts: 2, backoff: fixed({ base: "2s", jitter: 0 }) } });
  await stage.worker(
    doorbell,
    [
      handle(greet, (job) => void startedAt.set(job.id, performance.now())),
      handle(retried, (job) => {
        if (job.attempt === 1) throw new Error("not yet");
        startedAt.set(job.id, performance.now());
      }),
    ],
    withoutSweeps,
  );
  const enqueuedAt = performance.now();
  const here = await doorbell.enqueue(greet, {}, { tenant: "acme" });
  const [psql] = await stage.db.query<{ id: string }>("select job_id as id from doorbell.enqueue('globex', 'greet')");
  const later = await doorbell.enqueue(greet, {}, { tenant: "acme", runAfter: "3s" });
  const again = await doorbell.enqueue(retried, {}, { tenant: "acme" });
  const took = async (id: string | undefined): Promise<number> =>
    (await eventually("its start", () => startedAt.get(id ?? ""))) - enqueuedAt;
  expect(await took(here.id)).toBeLessThan(900); // sooner than a poll
  expect(await took(psql?.id)).toBeLessThan(2_500);
  expect(await took(again.id)).toBeGreaterThan(1_900);
  expect(await took(later.id)).toBeGreaterThan(2_900);
  expect(await took(again.id)).toBeLessThan(4_500);
  expect(await took(later.id)).toBeLessThan(5_500);
});

test("behind no worker the queue is given a hundred doorbells and no more, however often it is swept", async () => {
  await using stage = await Stage.open();
  const broker = new Broker();
  const doorbell = await stage.client(broker.options);
  const maintenance = doorbell.maintenance({ sweepEvery: "100ms" });
  await enqueueMany(doorbell, 3_000);
  await stage.db.query("update doorbell.jobs set run_after = run_after - interval '1 minute'");
  maintenance.start();
  await eventually("the window to be full", () => broker.sent.length >= 100);
  await sleep(2_500); // more than twenty sweeps
  await maintenance.stop();
  expect(broker.sent).toHaveLength(100);
  expect(new Set(broker.sent.map(({ job_id }) => job_id)).size).toBe(100);
});

test("the fair order decides what the queue is given, and the window grows with the workers' slots", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const database = new Database({ url: stage.db.appUrl, max: 1, name: "test" });
  await doorbell.enqueueMany(Array.from({ length: 500 }, () => ({ job: greet, tenant: "flood" })));
  await doorbell.enqueue(greet, {}, { tenant: "small" });
  const first = await takeDoorbells(database, "default", 500);
  expect(first).toHaveLength(100);
  expect(first.findIndex(({ tenant_id }) => tenant_id === "small")).toBeLessThan(10);
  expect(await takeDoorbells(database, "default", 500)).toEqual([]);
  await database.query(
    "select doorbell.beat('w', 'worker', 'h', 1, 'v', array['greet'], array['default'], 50, 0, false, 0)",
  );
  expect(await takeDoorbells(database, "default", 500)).toHaveLength(100);
  await database.close();
});

test("a queue that is wiped under a backlog costs one look, and no job", async () => {
  await using stage = await Stage.open();
  const broker = new Broker();
  const doorbell = await stage.client(broker.options);
  const runs = new Map<string, number>();
  const gates: (() => void)[] = [];
  let gated = true;
  await enqueueMany(doorbell, 300);
  await stage.worker(
    doorbell,
    [
      handle(greet, async (job) => {
        runs.set(job.id, (runs.get(job.id) ?? 0) + 1);
        if (gated) await new Promise<void>((resolve) => void gates.push(resolve));
      }),
    ],
    { concurrency: 10, sweepEvery: "5s", lease: "30s" },
  );
  await eventually("ten to run", () => gates.length === 10);
  expect(await broker.wipe()).toBeGreaterThan(50);
  const wipedAt = performance.now();
  gated = false;
  for (const gate of gates) gate();
  await eventually("all to be done", async () => (await openJobs(stage)) === 0, 20_000);
  expect(performance.now() - wipedAt).toBeLessThan(10_000); // two sweeps at the most; the first look is when it runs dry
  expect([runs.size, Math.max(...runs.values())]).toEqual([300, 1]);
});

test("a backlog behind busy workers is not rung again, sweep after sweep", async () => {
  await using stage = await Stage.open();
  const broker = new Broker();
  const doorbell = await stage.client(broker.options);
  let release: () => void = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await stage.worker(doorbell, [handle(greet, () => released)], { concurrency: 5, sweepEvery: "200ms", lease: "30s" });
  await enqueueMany(doorbell, 400);
  await stage.db.query("update doorbell.jobs set run_after = run_after - interval '1 minute' where state = 'queued'");
  await sleep(3_500);
  const ids = broker.sent.map(({ job_id }) => job_id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(stage.lines.filter((line) => String(line["message"]).includes("sweeper"))).toEqual([]);
  release();
  await eventually("all to be done", async () => (await openJobs(stage)) === 0, 20_000);
});

test("what the queue does not take is in the line again, and goes when it is back, without a restart", async () => {
  await using stage = await Stage.open();
  const broker = new Broker();
  const doorbell = await stage.client(broker.options);
  broker.down = true;
  const done: string[] = [];
  await stage.worker(doorbell, [handle(greet, (job) => void done.push(job.id))], withoutSweeps);
  await enqueueMany(doorbell, 150);
  await sleep(1_500);
  expect(await stage.db.query("select from doorbell.rung")).toEqual([]);
  expect(done).toEqual([]);
  broker.down = false;
  await eventually("all of them", () => done.length === 150);
  expect(new Set(done).size).toBe(150);
});

test("a queue that loses everything is tried again ever more seldom, and everything runs once it does not", async () => {
  await using stage = await Stage.open();
  const broker = new Broker();
  const doorbell = await stage.client(broker.options);
  broker.lossy = true;
  const done: string[] = [];
  await stage.worker(doorbell, [handle(greet, (job) => void done.push(job.id))], { sweepEvery: "300ms" });
  const { id } = await doorbell.enqueue(greet, {}, { tenant: "acme" });
  await sleep(9_000);
  // After 2 s, 4 s more, 8 s more: never a flood, however often it is swept.
  expect(broker.sent.length).toBeGreaterThanOrEqual(2);
  expect(broker.sent.length).toBeLessThanOrEqual(3);
  broker.lossy = false;
  await eventually("it to run", () => done.includes(id), 15_000);
});

test("kinds that nobody knew are handed over when a worker comes that does", async () => {
  await using stage = await Stage.open();
  const broker = new Broker();
  const doorbell = await stage.client(broker.options);
  const other = defineJob({ kind: "other" });
  const worker = await stage.worker(doorbell, [handle(other, () => {})], withoutSweeps);
  await doorbell.enqueue(greet, {}, { tenant: "acme" });
  await eventually(
    "it to be put aside",
    async () => (await stage.db.query("select from doorbell.unhandled")).length === 1,
  );
  await worker.drain();
  const done: string[] = [];
  await stage.worker(doorbell, [handle(greet, (job) => void done.push(job.id))], withoutSweeps);
  await eventually("it to run", () => done.length === 1);
});

test("changing from one queue to another: what the first one kept is found missing, and nothing runs twice", async () => {
  await using stage = await Stage.open();
  const left = new Broker();
  const first = await stage.client(left.options);
  const runs = new Map<string, number>();
  const count = handle(greet, async (job) => {
    runs.set(job.id, (runs.get(job.id) ?? 0) + 1);
    await sleep(5);
  });
  await enqueueMany(first, 1_000);
  const worker = await stage.worker(first, [count], { concurrency: 10 });
  await eventually("some to run", () => runs.size > 100);
  await worker.drain();
  expect(await left.wipe()).toBeGreaterThan(0);
  const second = await stage.client({ queue: "postgres:" });
  await stage.worker(second, [count], { concurrency: 50 });
  await eventually("all to be done", async () => (await openJobs(stage)) === 0, 60_000);
  expect([runs.size, Math.max(...runs.values())]).toEqual([1_000, 1]);
}, 90_000);

test("rows of doorbells that never came back go, when their lane has been idle", async () => {
  await using stage = await Stage.open();
  const database = new Database({ url: stage.db.appUrl, max: 1, name: "test" });
  await stage.db.query(
    "insert into doorbell.rung (tenant_id, job_id, lane, rung_at) values ('acme', gen_random_uuid(), 'default', now() - interval '11 min')",
  );
  await sweepOnce(database);
  expect(await stage.db.query("select from doorbell.rung")).toHaveLength(1);
  await sweepOnce(database, { idleLanes: ["default"] });
  expect(await stage.db.query("select from doorbell.rung")).toEqual([]);
  await database.close();
});
