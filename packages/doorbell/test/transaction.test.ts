// Enqueue in the caller's own transaction: nothing is to be seen of it before the commit, and everything is there after.
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { expect, test } from "vitest";
import { type Doorbell, DoorbellError, defineJob, fromPg, handle } from "../src/index.ts";
import { Child } from "./child.ts";
import { eventually, Stage } from "./support.ts";

const greet = defineJob({ kind: "greet" });

async function callersClient(stage: Stage): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client(stage.db.producerUrl);
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}

async function worker(stage: Stage, client: Doorbell): Promise<string[]> {
  const started: string[] = [];
  await stage.worker(client, [handle(greet, (job) => void started.push(job.id))]);
  return started;
}

const counts = async (stage: Stage) =>
  (
    await stage.db.query(
      "select (select count(*)::int from doorbell.all_jobs) as jobs, (select count(*)::int from doorbell.doorbells) as doorbells",
    )
  )[0];

test("while the caller's transaction is open there is no job, no doorbell and no NOTIFY to anyone; after the commit the handler starts", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const started = await worker(stage, doorbell);
  const heard: string[] = [];
  const listener = new pg.Client(stage.db.adminUrl);
  await listener.connect();
  listener.on("notification", ({ payload = "" }) => void (payload.startsWith("test:") || heard.push(payload)));
  await listener.query("listen doorbell");
  await using mine = await callersClient(stage);

  await mine.query("begin");
  const receipt = await doorbell.enqueue(greet, {}, { tenant: "acme", tx: fromPg(mine) });
  await sleep(1_500); // longer than a poll and a sweep
  expect(await counts(stage)).toEqual({ jobs: 0, doorbells: 0 });
  expect(heard).toEqual([]);
  expect(started).toEqual([]);
  await mine.query("commit");
  await eventually("the handler to start", () => started.includes(receipt.id), 900); // sooner than the next poll may come
  await eventually("the wake-up for others", () => heard.includes("default"));
  await listener.end();
});

test("after a rollback, of the transaction or of a savepoint, nothing is there and nothing runs", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const started = await worker(stage, doorbell);
  await using mine = await callersClient(stage);
  await mine.query("begin");
  await doorbell.enqueue(greet, {}, { tenant: "acme", tx: fromPg(mine) });
  await mine.query("rollback");

  await mine.query("begin");
  await mine.query("savepoint s");
  await doorbell.enqueue(greet, {}, { tenant: "acme", tx: fromPg(mine), idempotencyKey: "k" });
  await mine.query("rollback to savepoint s");
  const kept = await doorbell.enqueue(greet, {}, { tenant: "acme", tx: fromPg(mine), idempotencyKey: "k" });
  expect(kept.created).toBe(true);
  await mine.query("commit");
  await eventually("the job that was kept", () => started.length > 0);
  await sleep(500);
  expect(started).toEqual([kept.id]);
  expect(await counts(stage)).toEqual({ jobs: 1, doorbells: 0 });
});

test("a process that is killed between its commit and the ring loses no job: it runs within a sweep", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  await using producer = await Child.start("producer-process.ts", { DATABASE_URL: stage.db.producerUrl });
  const { job } = await producer.hears("committed");
  producer.kill("SIGKILL");
  await producer.ended();
  const started = await worker(stage, doorbell);
  await eventually("the job to run", () => started.includes(String(job)), 6_000);
});

test("a bad enqueue is refused and leaves the caller's transaction whole; a duplicate leaves its other writes alone", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client({ databaseUrl: stage.db.producerUrl, tenantSetting: "app.tenant" });
  const nowhere = defineJob({ kind: "greet", lane: "nowhere" });
  await stage.db.query("create table public.business (n int); grant all on public.business to producer");
  await using mine = await callersClient(stage);
  const tx = fromPg(mine);
  const first = await doorbell.enqueue(greet, {}, { tenant: "acme", idempotencyKey: "k" });

  await mine.query("begin");
  await mine.query("insert into public.business values (1)");
  await doorbell.clamp(tx, "acme");
  const refused: string[] = [];
  for (const enqueue of [
    () => doorbell.enqueue(greet, { nul: "a\u0000b" }, { tenant: "acme", tx }),
    () => doorbell.enqueue(greet, { big: "x".repeat(70_000) }, { tenant: "acme", tx }),
    () => doorbell.enqueue(greet, {}, { tenant: "x".repeat(10_000), tx }),
    () => doorbell.enqueue(greet, {}, { tenant: "", tx }),
    () => doorbell.enqueue(greet, { when: new Date(0) }, { tenant: "acme", tx }),
    () => doorbell.enqueue(nowhere, {}, { tenant: "acme", tx }),
    () => doorbell.enqueue(greet, {}, { tenant: "globex", tx }),
    () =>
      doorbell.enqueueMany(
        [
          { job: greet, tenant: "acme" },
          { job: greet, tenant: "globex" },
        ],
        { tx },
      ),
    async () => {
      await mine.query("select set_config('doorbell.tenant_id', '', true)");
      await doorbell.enqueue(greet, {}, { tenant: "globex", tx }); // its own setting is still there
    },
  ]) {
    refused.push(
      await enqueue().then(
        () => "enqueued",
        (error) => (DoorbellError.isInstance(error) ? error.code : String(error)),
      ),
    );
  }
  expect(refused).toEqual([
    "value_not_storable",
    "payload_too_large",
    "tenant_invalid",
    "tenant_invalid",
    "value_not_storable",
    "lane_unknown",
    "tenant_mismatch",
    "tenant_mismatch",
    "tenant_mismatch",
  ]);
  const again = await doorbell.enqueue(greet, {}, { tenant: "acme", tx, idempotencyKey: "k" });
  expect(again).toMatchObject({ id: first.id, created: false });
  await mine.query("insert into public.business values (2)");
  await mine.query("commit");
  expect(await stage.db.query("select n from public.business order by n")).toEqual([{ n: 1 }, { n: 2 }]);
});

test("our own transaction says so when Postgres answered its commit with a rollback, and its handle is dead afterwards", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  let late: Promise<unknown> = Promise.resolve();
  const swallowed = doorbell.transaction("acme", async (tx) => {
    await doorbell.enqueue(greet, {}, { tenant: "acme", tx });
    await tx.query("select 1 / 0").catch(() => {});
    late = sleep(100).then(() => tx.query("select 1"));
  });
  await expect(swallowed).rejects.toMatchObject({ code: "transaction_rolled_back" });
  await expect(late).rejects.toMatchObject({ code: "closed" });
  await expect(
    doorbell.transaction("acme", (tx) => doorbell.enqueue(greet, {}, { tenant: "globex", tx })),
  ).rejects.toMatchObject({ code: "tenant_mismatch" });
  expect(await counts(stage)).toEqual({ jobs: 0, doorbells: 0 });
});
