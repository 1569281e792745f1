// What a worker does when handlers, payloads and the database misbehave.
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { expect, test } from "vitest";
import { z } from "zod";
import { createDoorbell, createLog, defineJob, fixed, handle, type Job } from "../src/index.ts";
import { sweepOnce } from "../src/maintenance/sweeper.ts";
import { eventually, Stage } from "./support.ts";

const soon = { maxAttempts: 3, backoff: fixed({ base: "20ms", jitter: 0 }) };

interface Row {
  readonly state: string;
  readonly attempts: number;
  readonly error_code: string | null;
  readonly last_error: string | null;
  readonly result: unknown;
}
const rowOf = async (stage: Stage, id: string): Promise<Row | undefined> =>
  (
    await stage.db.query<Row & Record<string, unknown>>(
      "select state, attempts, error_code, last_error, result from doorbell.all_jobs where id = $1",
      [id],
    )
  )[0];
const ended = (stage: Stage, id: string): Promise<Row> =>
  eventually("the job to end", async () => {
    const row = await rowOf(stage, id);
    return row !== undefined && ["done", "failed", "cancelled"].includes(row.state) && row;
  });

test("an attempt that ignores its signal ends at its timeout; what it tries later is refused, and the next one does it", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const calls: number[] = [];
  let refused = "";
  let aborted = false;
  const late = defineJob({ kind: "late", timeout: "300ms", retry: soon });
  const worker = await stage.worker(doorbell, [
    handle(late, async (job: Job<unknown>) => {
      if (job.attempt === 1) {
        const { signal } = job;
        await sleep(900);
        aborted = signal.aborted;
        await job.effect("pay", { do: () => void calls.push(1) }).catch((error: { code: string }) => {
          refused = error.code;
        });
        return "late";
      }
      await job.effect("pay", { do: () => void calls.push(job.attempt) });
      return "in time";
    }),
  ]);
  const { id } = await doorbell.enqueue(late, {}, { tenant: "acme" });
  expect(await ended(stage, id)).toMatchObject({ state: "done", attempts: 2, result: "in time" });
  await eventually("the first handler to end", () => refused !== "");
  expect([refused, aborted, calls]).toEqual(["lease_lost", true, [2]]);
  expect(await stage.db.query("select attempt, outcome, error_code from doorbell.attempts")).toEqual([
    { attempt: 1, outcome: "retry", error_code: "timeout" },
  ]);
  expect(worker.health()).toEqual({ ready: true, reasons: [] });
});

test("handlers that never end lose their attempts, not the slots; a process that is full of them says that it cannot work", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const stuck = defineJob({ kind: "stuck", timeout: "200ms", retry: { maxAttempts: 1 } });
  const quick = defineJob({ kind: "quick" });
  const done: string[] = [];
  const worker = await stage.worker(
    doorbell,
    [handle(stuck, () => new Promise(() => {})), handle(quick, (job) => void done.push(job.id))],
    { concurrency: 2 },
  );
  const one = await doorbell.enqueue(stuck, {}, { tenant: "acme" });
  expect(await ended(stage, one.id)).toMatchObject({ state: "failed", error_code: "timeout" });
  await doorbell.enqueueMany(Array.from({ length: 20 }, () => ({ job: quick, tenant: "acme" })));
  await eventually("the quick ones", () => done.length === 20);
  expect(worker.health().ready).toBe(true);
  const two = await doorbell.enqueue(stuck, {}, { tenant: "acme" });
  expect(await ended(stage, two.id)).toMatchObject({ state: "failed" });
  expect(worker.health()).toMatchObject({
    ready: false,
    reasons: ["2 handlers ignore their signal and fill the process"],
  });
});

test("whatever a handler throws, the attempt is on record, bounded and readable, and the worker lives", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const thrown: (() => unknown)[] = [
    () => undefined,
    () => null,
    () => 42,
    () => "boom",
    () => Symbol("x"),
    () => ({}),
    () => Object.create(null),
    () => new Error("x".repeat(50_000_000)),
    () => new Error("nul \u0000 and \ud800 inside"),
    () =>
      new Proxy(new Error("p"), {
        get() {
          throw new Error("a trap");
        },
      }),
    () => Object.assign(new Error("refused"), { config: { headers: { Authorization: "Bearer s3cr3t-t0ken" } } }),
  ];
  const hostile = defineJob({ kind: "hostile", retry: { maxAttempts: 1 }, payload: z.object({ n: z.number() }) });
  await stage.worker(doorbell, [
    handle(hostile, async (job) => {
      throw thrown[job.payload.n]?.();
    }),
  ]);
  const receipts = await Promise.all(thrown.map((_, n) => doorbell.enqueue(hostile, { n }, { tenant: "acme" })));
  for (const { id } of receipts) {
    const row = await ended(stage, id);
    expect(row).toMatchObject({ state: "failed", attempts: 1 });
    expect(row.last_error?.length).toBeGreaterThan(0);
    expect(row.last_error?.length).toBeLessThan(17_000);
    expect(row.last_error).not.toContain("s3cr3t-t0ken");
  }
});

test("a payload that does not match its schema is refused at the door, and is a dead letter with its reason when it came by another", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const strict = defineJob({ kind: "strict", payload: z.object({ documentId: z.uuid() }), retry: soon });
  const seen: unknown[] = [];
  await stage.worker(doorbell, [handle(strict, (job) => void seen.push(job.payload))]);
  await expect(doorbell.enqueue(strict, { documentId: "7" }, { tenant: "acme" })).rejects.toMatchObject({
    code: "payload_invalid",
    message: expect.stringContaining("documentId"),
  });
  const [row] = await stage.db.query<{ job_id: string }>(
    `select job_id from doorbell.enqueue('acme', 'strict', '{"documentId": 7}')`,
  );
  expect(await ended(stage, String(row?.job_id))).toMatchObject({
    state: "failed",
    attempts: 1,
    error_code: "payload_invalid",
  });
  expect(seen).toEqual([]);
});

test("a result that cannot be stored is a dead letter at once, and names the path", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const odd = defineJob({ kind: "odd", retry: soon });
  await stage.worker(doorbell, [handle(odd, () => ({ when: [new Date(0)] }))]);
  const { id } = await doorbell.enqueue(odd, {}, { tenant: "acme" });
  const row = await ended(stage, id);
  expect(row).toMatchObject({ state: "failed", attempts: 1, error_code: "value_not_storable" });
  expect(row.last_error).toContain("result.when[0]");
});

test("a result that Postgres refuses is a dead letter, and keeps no other job from its end", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client({ valueMaxBytes: 200_000 });
  const big = defineJob({ kind: "big", retry: soon });
  const small = defineJob({ kind: "small", retry: soon });
  const smalls = Array.from({ length: 10 }, () => ({ job: small, tenant: "acme" }));
  await doorbell.enqueueMany([{ job: big, tenant: "acme" }, ...smalls]);
  await stage.worker(doorbell, [handle(big, () => "x".repeat(100_000)), handle(small, () => 1)]);
  await eventually("all to end", async () => (await stage.db.query("select from doorbell.jobs")).length === 0);
  expect(
    await stage.db.query(
      "select kind, state, error_code, count(*)::int as n from doorbell.all_jobs group by 1, 2, 3 order by 1",
    ),
  ).toEqual([
    { kind: "big", state: "failed", error_code: "outcome_refused", n: 1 },
    { kind: "small", state: "done", error_code: null, n: 10 },
  ]);
  const toldEnds = () => stage.lines.filter((line) => line["kind"] === "big").map((line) => String(line["message"]));
  await eventually("the end to be told", () => toldEnds().length > 0);
  expect(toldEnds()).toEqual(["attempt ended: failed"]);
});

test("a drain waits for the claim that is under way: what it brings is run, not left to its lease", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const job = defineJob({ kind: "job" });
  await doorbell.enqueue(job, {}, { tenant: "acme" });
  const admin = new pg.Client(stage.db.adminUrl);
  await admin.connect();
  await admin.query("begin; lock table doorbell.doorbells in access exclusive mode");
  const worker = await stage.worker(doorbell, [handle(job, () => 1)]);
  await eventually("a tick to wait for the line", async () => {
    const waiting = await stage.db.query(
      "select from pg_stat_activity where datname = current_database() and application_name = 'doorbell worker' and wait_event_type = 'Lock'",
    );
    return waiting.length > 0;
  });
  const drained = worker.drain();
  await admin.query("rollback");
  await admin.end();
  await drained;
  expect(await stage.db.query("select state from doorbell.all_jobs")).toEqual([{ state: "done" }]);
});

test("a worker whose lanes cannot be made does not start", async () => {
  const doorbell = await createDoorbell({
    databaseUrl: "postgres://nobody@127.0.0.1:9/none",
    log: createLog({ level: "silent" }),
  });
  const worker = doorbell.worker([handle(defineJob({ kind: "letter", lane: "mail" }), () => 1)]);
  await expect(worker.start()).rejects.toMatchObject({ code: "database_unavailable" });
  await worker.drain();
  await doorbell.close();
});

test("a kind that no worker knows waits without losing attempts, is shown as such, and runs when one comes that knows it", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const known = defineJob({ kind: "known" });
  const unknown = defineJob({ kind: "unknown" });
  await stage.worker(doorbell, [handle(known, () => "fine")]);
  const { id } = await doorbell.enqueue(unknown, {}, { tenant: "acme" });
  const other = await doorbell.enqueue(known, {}, { tenant: "acme" });
  await ended(stage, other.id);
  await sleep(1_500);
  expect(await rowOf(stage, id)).toMatchObject({ state: "queued", attempts: 0 });
  expect(await stage.db.query("select kind, due::int, workers::int from doorbell.stats()")).toEqual([
    { kind: "unknown", due: 1, workers: 0 },
  ]);
  await stage.worker(doorbell, [handle(unknown, () => "at last")]);
  expect(await ended(stage, id)).toMatchObject({ state: "done", attempts: 1, result: "at last" });
});

test("connections that Postgres ends, idle and busy, cost time and no work", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const work = defineJob({ kind: "work", retry: soon });
  let handled = 0;
  const worker = await stage.worker(doorbell, [
    handle(work, async () => {
      await sleep(5);
      handled += 1;
    }),
  ]);
  const kill = () =>
    stage.db.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'doorbell%' and datname = current_database()",
    );
  for (let round = 0; round < 5; round += 1) {
    await eventually("the enqueue to get through", () =>
      doorbell
        .enqueueMany(
          Array.from({ length: 40 }, (_, n) => ({ job: work, tenant: `t${n % 4}`, idempotencyKey: `${round}:${n}` })),
        )
        .catch(() => null),
    );
    await kill();
    await sleep(50);
  }
  const open = async () => (await stage.db.query<{ n: number }>("select count(*)::int as n from doorbell.jobs"))[0]?.n;
  await eventually("all jobs to be done", async () => (await open()) === 0, 20_000);
  expect(await stage.db.query("select state, count(*)::int as n from doorbell.all_jobs group by 1")).toEqual([
    { state: "done", n: 200 },
  ]);
  expect(handled).toBeGreaterThanOrEqual(200);
  await eventually("the worker to be well", () => worker.health().ready);
  const { id } = await doorbell.enqueue(work, {}, { tenant: "acme" });
  await ended(stage, id);
});

test("in a run without faults the sweeper rescues nothing; lost doorbells and expired leases it brings back, all of them", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const work = defineJob({ kind: "work" });
  await doorbell.enqueueMany(Array.from({ length: 500 }, (_, n) => ({ job: work, tenant: `t${n % 20}` })));
  const { database } = doorbell.client;
  expect(await sweepOnce(database)).toEqual({ expired: 0, dead: 0, rung: 0 });
  await stage.db.query("update doorbell.jobs set run_after = run_after - interval '1 min'");
  expect(await sweepOnce(database)).toEqual({ expired: 0, dead: 0, rung: 0 }); // a backlog is not a loss
  await stage.db.query(
    "delete from doorbell.doorbells where job_id in (select id from doorbell.jobs order by id limit 200)",
  );
  expect(await sweepOnce(database)).toEqual({ expired: 0, dead: 0, rung: 200 });
  expect(await sweepOnce(database)).toEqual({ expired: 0, dead: 0, rung: 0 });
  await stage.db.query("select count(*) from doorbell.tick('dead worker', array['work'], 150, array['default'], 1)");
  await sleep(20);
  expect(await sweepOnce(database)).toEqual({ expired: 150, dead: 0, rung: 0 });
  let handled = 0;
  await stage.worker(doorbell, [
    handle(work, () => {
      handled += 1;
    }),
  ]);
  await eventually("all jobs to be done", async () => (await stage.db.query("select from doorbell.jobs")).length === 0);
  expect(handled).toBe(500);
  expect(
    await stage.db.query("select attempts, count(*)::int as n from doorbell.job_history group by 1 order by 1"),
  ).toEqual([
    { attempts: 1, n: 350 },
    { attempts: 2, n: 150 },
  ]);
});

test("ten workers and every doorbell ten times: each of 2,000 handlers starts exactly once", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const work = defineJob({ kind: "work" });
  const receipts = await doorbell.enqueueMany(
    Array.from({ length: 2_000 }, (_, n) => ({ job: work, tenant: `t${n % 50}` })),
  );
  await stage.db.query("insert into doorbell.doorbells select d.* from doorbell.doorbells d, generate_series(1, 9)");
  const starts = new Map<string, number>();
  const handler = handle(work, (job) => {
    starts.set(job.id, (starts.get(job.id) ?? 0) + 1);
  });
  const workers = await Promise.all(
    Array.from({ length: 10 }, () => stage.worker(doorbell, [handler], { concurrency: 100 })),
  );
  await eventually(
    "all doorbells to be answered",
    async () => (await stage.db.query("select from doorbell.doorbells limit 1")).length === 0,
    40_000,
  );
  await eventually("all jobs to be done", async () => (await stage.db.query("select from doorbell.jobs")).length === 0);
  expect(receipts.map(({ id }) => starts.get(id))).toEqual(receipts.map(() => 1));
  expect(
    await stage.db.query("select state, attempts, count(*)::int as n from doorbell.all_jobs group by 1, 2"),
  ).toEqual([{ state: "done", attempts: 1, n: 2_000 }]);
  await Promise.all(workers.map((worker) => worker.drain()));
  expect(workers.reduce((sum, worker) => sum + worker.doorbellsDropped, 0)).toBe(18_000);
}, 60_000);

test("through the memory queue, where doorbells travel outside of the table, every job runs once", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client({ queue: "memory:" });
  const work = defineJob({ kind: "work", retry: soon });
  const handled: string[] = [];
  await stage.worker(doorbell, [
    handle(work, (job) => {
      if (job.attempt === 1 && job.payload === 1) throw new Error("again");
      handled.push(job.id);
    }),
  ]);
  const receipts = await doorbell.enqueueMany(
    Array.from({ length: 300 }, (_, n) => ({ job: work, payload: n, tenant: `t${n % 3}` })),
  );
  await eventually("all of them", () => handled.length === 300);
  expect(new Set(handled)).toEqual(new Set(receipts.map((receipt) => receipt.id)));
  await eventually(
    "what was on its way to be forgotten",
    async () => (await stage.db.query("select from doorbell.rung")).length === 0,
  );
});

test("a job that is cancelled while it runs ends as cancelled, its signal is aborted, and it does nothing more", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const long = defineJob({ kind: "long" });
  let reason = "";
  let refused = "";
  await stage.worker(
    doorbell,
    [
      handle(long, async (job) => {
        await new Promise((resolve) => job.signal.addEventListener("abort", resolve, { once: true }));
        reason = String(job.signal.reason);
        await job.effect("pay", { do: () => "paid" }).catch((error: { code: string }) => {
          refused = error.code;
        });
      }),
    ],
    { lease: "1s" },
  );
  const { id } = await doorbell.enqueue(long, {}, { tenant: "acme" });
  await eventually("the job to run", async () => (await rowOf(stage, id))?.state === "claimed");
  expect(await stage.db.query("select doorbell.cancel('acme', $1, 'not wanted any more')", [id])).toEqual([
    { cancel: "cancelled" },
  ]);
  await eventually("the signal", () => refused !== "");
  expect(reason).toContain("lease is lost");
  expect(refused).toBe("lease_lost");
  expect(await rowOf(stage, id)).toMatchObject({ state: "cancelled", last_error: "not wanted any more" });
  expect(await stage.db.query("select doorbell.cancel('acme', $1)", [id])).toEqual([{ cancel: "final" }]);
  expect(await stage.db.query("select doorbell.cancel('globex', $1)", [id])).toEqual([{ cancel: "not_found" }]);
});

test("a handler can finish in its own transaction: its writes and the job's end are there together, or not at all", async () => {
  await using stage = await Stage.open();
  await stage.db.query("create table public.invoices (job uuid); grant all on public.invoices to app");
  const doorbell = await stage.client();
  const work = defineJob({ kind: "work", retry: soon });
  await stage.worker(doorbell, [
    handle(work, async (job) => {
      await job.transaction(async (tx) => {
        await tx.query("insert into public.invoices values ($1)", [job.id]);
        await job.complete(tx, { attempt: job.attempt });
        if (job.attempt === 1) throw new Error("after all, no");
      });
    }),
  ]);
  const { id } = await doorbell.enqueue(work, {}, { tenant: "acme" });
  expect(await ended(stage, id)).toMatchObject({ state: "done", attempts: 2, result: { attempt: 2 } });
  expect(await stage.db.query("select job from public.invoices")).toEqual([{ job: id }]);
});
