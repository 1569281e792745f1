// The helpers of `doorbell-jobs/testing`: jobs in their enqueue, everything that is due, later made now, what was enqueued.
import { expect, test } from "vitest";
import { defineJob, handle, type Job } from "../src/index.ts";
import { drain, expectEnqueued, inline, makeDue } from "../src/testing/index.ts";
import { Stage } from "./support.ts";

type AnyJob = Job<unknown>;
const kind = defineJob({ kind: "work", retry: { maxAttempts: 3 } });

test("inline runs a job in its enqueue, gives its result, and throws what its attempt ended with", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  await using now = await inline(doorbell, [
    handle(kind, async (job: AnyJob) => {
      if (job.payload === "bad") throw new Error("the bank is closed");
      return { got: job.payload, paid: await job.effect("pay", { do: () => 7 }) };
    }),
  ]);
  const options = { tenant: "acme", idempotencyKey: "once" };
  expect(await now.enqueue(kind, "good", options)).toEqual({ got: "good", paid: 7 });
  expect(await now.enqueue(kind, "good", options)).toEqual({ got: "good", paid: 7 });
  await expect(now.enqueue(kind, "bad", { tenant: "acme" })).rejects.toThrow(
    /is queued after its attempt: .*the bank is closed/,
  );
  await expect(now.enqueue(defineJob({ kind: "other" }), 1, { tenant: "acme" })).rejects.toThrow(
    /no handler was given/,
  );
  const both = await Promise.all([1, 2].map((n) => now.enqueue(kind, n, { tenant: "acme" })));
  expect(both).toEqual([
    { got: 1, paid: 7 },
    { got: 2, paid: 7 },
  ]);
});

test("drain runs what is due and what that enqueues; what is due later runs when it is made due", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const ran: unknown[] = [];
  const handlers = [
    handle(kind, async (job: AnyJob) => {
      ran.push(job.payload);
      if (job.payload === "parent") await doorbell.enqueue(kind, "child", { tenant: job.tenant });
      if (job.payload === "sleeper") await job.sleep("a day", "1d");
      if (job.payload === "sleeper") ran.push("awake");
    }),
  ];
  await doorbell.enqueue(kind, "parent", { tenant: "acme" });
  const { id: later } = await doorbell.enqueue(kind, "later", { tenant: "acme", runAfter: "30d" });
  const { id: sleeper } = await doorbell.enqueue(kind, "sleeper", { tenant: "acme" });
  expect(await drain(doorbell, handlers)).toEqual({ claimed: 3, ends: { done: 2, snooze: 1 } });
  expect([...ran].sort()).toEqual(["child", "parent", "sleeper"]);

  expect(await makeDue(stage.db, "acme", later)).toBe(true);
  expect(await makeDue(stage.db, "acme", sleeper)).toBe(true);
  expect(await makeDue(stage.db, "other", later)).toBe(false);
  expect(await drain(doorbell, handlers)).toEqual({ claimed: 2, ends: { done: 2 } });
  expect(ran.slice(3).sort()).toEqual(["awake", "later", "sleeper"]);
  expect(await makeDue(stage.db, "acme", later)).toBe(false);
});

test("drain gives up on jobs that enqueue themselves for ever", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const endless = [handle(kind, (job: AnyJob) => doorbell.enqueue(kind, {}, { tenant: job.tenant }).then(() => {}))];
  await doorbell.enqueue(kind, {}, { tenant: "acme" });
  await expect(drain(doorbell, endless, { timeoutMs: 1_000 })).rejects.toThrow(/there are still jobs that are due/);
});

test("expectEnqueued finds a job by a part of its payload, in an open transaction too, and says what is there instead", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const payload = { invoice: { id: 7, lines: [1, 2] }, note: "n" };
  const seen = await doorbell.transaction("acme", async (tx) => {
    await doorbell.enqueue(kind, payload, { tenant: "acme", tx });
    return await expectEnqueued(tx, "acme", kind, { invoice: { id: 7 } });
  });
  expect(seen).toMatchObject({ payload, state: "queued", objectKey: null, priority: 0, runAfter: expect.any(Date) });
  expect((await expectEnqueued(doorbell, "acme", kind, (job) => job.state === "queued")).id).toBe(seen.id);
  expect((await expectEnqueued(doorbell, "acme", kind)).id).toBe(seen.id);
  await expect(expectEnqueued(doorbell, "acme", kind, { invoice: { lines: [1] } })).rejects.toThrow(
    `no job of kind work of tenant acme with {"invoice":{"lines":[1]}} was enqueued; there are:\n- ${seen.id} queued {"note":"n"`,
  );
  await expect(expectEnqueued(doorbell, "globex", kind, { invoice: { id: 7 } })).rejects.toThrow(
    /there is none of this kind/,
  );
});
