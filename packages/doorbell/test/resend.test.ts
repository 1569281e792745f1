// The same id or key again, before, during and after the job's life: one job, one row, flagged.
import { expect, test } from "vitest";
import { defineJob, type EnqueueManyItem, handle, newId } from "../src/index.ts";
import { eventually, Stage, signal } from "./support.ts";

const work = defineJob({ kind: "work" });

test.each([
  ["key", () => ({ idempotencyKey: "k".repeat(5_000) })],
  ["id", () => ({ id: newId() })],
  ["key and id", () => ({ idempotencyKey: "k", id: newId() })],
] as const)(
  "an enqueue with the same %s is the same job, while it waits, while it runs, when it is done, dead, and discarded",
  async (_, options) => {
    await using stage = await Stage.open();
    const doorbell = await stage.client();
    const again = { tenant: "acme", ...options() };
    const ids: string[] = [];
    const resend = async (when: string): Promise<void> => {
      const single = await doorbell.enqueue(work, {}, again);
      const many = await doorbell.enqueueMany([
        { job: work, ...again },
        { job: work, ...again },
      ] satisfies EnqueueManyItem[]);
      for (const receipt of [single, ...many])
        expect([when, receipt.id, receipt.created]).toEqual([when, ids[0], false]);
      expect(await stage.db.query("select count(*)::int as n from doorbell.all_jobs")).toEqual([{ n: 1 }]);
    };

    ids.push((await doorbell.enqueue(work, {}, again)).id);
    await resend("queued");
    const [entered, leave] = [signal(), signal()];
    const worker = await stage.worker(doorbell, [
      handle(work, async (job) => {
        if (job.attempt > 1) throw Object.assign(new Error("no"), { code: "x" });
        entered.resolve();
        await leave.promise;
      }),
    ]);
    await entered.promise;
    await resend("claimed");
    leave.resolve();
    const state = async () =>
      (await stage.db.query<{ state: string }>("select state from doorbell.all_jobs"))[0]?.state;
    await eventually("the job to be done", async () => (await state()) === "done");
    await resend("done");
    await worker.drain();
    await stage.db.query("select doorbell.replay('acme', array[$1::uuid], 1)", [ids[0]]);
    await resend("replayed");
    const second = await stage.worker(doorbell, [
      handle(defineJob({ kind: "work" }), () => Promise.reject(new Error("no"))),
    ]);
    await eventually("the job to be dead", async () => (await state()) === "failed");
    await resend("failed");
    await second.drain();
    await stage.db.query("select doorbell.discard('acme', array[$1::uuid], 'of no use', 'ann')", [ids[0]]);
    await resend("discarded");
  },
);

test("an id that we gave out is known as well as one that the caller chose", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const { id } = await doorbell.enqueue(work, {}, { tenant: "acme" });
  expect(await doorbell.enqueue(work, {}, { tenant: "acme", id })).toMatchObject({ id, created: false });
  await stage.db.query("select doorbell.cancel('acme', $1)", [id]);
  expect(await doorbell.enqueue(work, {}, { tenant: "acme", id })).toMatchObject({ id, created: false });
  const [many] = await doorbell.enqueueMany([{ job: work, tenant: "acme", id }]);
  expect(many).toMatchObject({ id, created: false });
  expect(await stage.db.query("select count(*)::int as n from doorbell.all_jobs")).toEqual([{ n: 1 }]);
});

test("keys and ids of one tenant say nothing about another's", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const id = newId();
  for (const options of [{ idempotencyKey: "k" }, { id }]) {
    const ours = await doorbell.enqueue(work, {}, { tenant: "acme", ...options });
    const theirs = await doorbell.enqueue(work, {}, { tenant: "globex", ...options });
    expect([ours.created, theirs.created]).toEqual([true, true]);
  }
  expect(
    await stage.db.query("select tenant_id, count(*)::int as n from doorbell.all_jobs group by 1 order by 1"),
  ).toEqual([
    { tenant_id: "acme", n: 2 },
    { tenant_id: "globex", n: 2 },
  ]);
});

test("six sessions send 300 keys in opposite orders: no deadlock, each key is one job, and everyone has its id", async () => {
  await using stage = await Stage.open();
  const doorbells = await Promise.all(Array.from({ length: 6 }, () => stage.client({ connectionsMax: 2 })));
  const keys = Array.from({ length: 300 }, (_, n) => `key ${n}`);
  const receipts = await Promise.all(
    doorbells.map(async (doorbell, n) => {
      const ordered = n % 2 === 0 ? keys : keys.toReversed();
      const items = ordered.map((idempotencyKey) => ({
        job: work,
        tenant: `t${Number(idempotencyKey.slice(4)) % 3}`,
        idempotencyKey,
      }));
      const answers = await doorbell.enqueueMany(items);
      return new Map(answers.map((receipt, k) => [items[k]?.idempotencyKey, receipt]));
    }),
  );
  for (const key of keys) {
    const ids = new Set(receipts.map((answers) => answers.get(key)?.id));
    expect(ids.size).toBe(1);
    expect(receipts.filter((answers) => answers.get(key)?.created)).toHaveLength(1);
  }
  expect(await stage.db.query("select count(*)::int as n from doorbell.all_jobs")).toEqual([{ n: 300 }]);
});

test("a rival that rolls back leaves the key free, and the one who waited for it gets a job of its own", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const other = await stage.client({ databaseUrl: stage.db.webUrl });
  let waiting: Promise<{ id: string; created: boolean }> | null = null;
  const rival = doorbell
    .transaction("acme", async (tx) => {
      await doorbell.enqueue(work, {}, { tenant: "acme", tx, idempotencyKey: "k" });
      waiting = other.enqueue(work, {}, { tenant: "acme", idempotencyKey: "k" });
      await eventually(
        "the second to wait",
        async () =>
          (
            await stage.db.query(
              "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
            )
          ).length > 0,
      );
      throw new Error("changed my mind");
    })
    .catch((error: Error) => error.message);
  expect(await rival).toBe("changed my mind");
  const receipt = await (waiting as unknown as Promise<{ id: string; created: boolean }>);
  expect(receipt.created).toBe(true);
  expect(await stage.db.query("select id from doorbell.all_jobs")).toEqual([{ id: receipt.id }]);
});
