// The example of docs/testing.md, which has it word for word, and imports as an application does.

import { afterAll, beforeAll, expect, test } from "vitest";
import { createDoorbell, type Doorbell, defineJob, handle, type Job } from "../src/index.ts";
import {
  createTestDatabase,
  drain,
  expectEnqueued,
  inline,
  makeDue,
  runTwice,
  sideEffect,
  type TestDatabase,
} from "../src/testing/index.ts";

const pay = defineJob({ kind: "invoice.pay" });
const bank = new Map<string, number>();

const paying = handle(pay, async (job: Job<unknown>) => {
  const { cents } = job.payload as { cents: number };
  await job.effect("charge", {
    request: { cents },
    do: ({ idempotencyKey }) => {
      sideEffect("charge the card"); // what the bank's client would do
      bank.set(`${job.tenant} ${idempotencyKey}`, cents);
    },
  });
  await job.usage("payments", 1);
  return { paid: cents };
});

let database: TestDatabase;
let doorbell: Doorbell;
beforeAll(async () => {
  database = await createTestDatabase();
  doorbell = await createDoorbell({ databaseUrl: database.appUrl });
});
afterAll(async () => {
  await doorbell.close();
  await database.drop();
});

test("a payment survives the death of its process at every moment", async () => {
  const { cuts } = await runTwice(paying, { cents: 1_250 }, { database, doorbell });
  expect(cuts.map(({ at }) => at)).toContain("after_call charge");
});

test("a payment is made", async () => {
  await using now = await inline(doorbell, [paying]);
  expect(await now.enqueue(pay, { cents: 5 }, { tenant: "acme" })).toEqual({ paid: 5 });
});

test("an invoice that is accepted is paid a month later", async () => {
  await doorbell.transaction("acme", async (tx) => {
    await doorbell.enqueue(pay, { cents: 7 }, { tenant: "acme", tx, runAfter: "30d" });
    await expectEnqueued(tx, "acme", pay, { cents: 7 });
  });
  const { id } = await expectEnqueued(doorbell, "acme", pay, ({ state }) => state === "queued");
  await makeDue(database, "acme", id);
  expect(await drain(doorbell, [paying])).toEqual({ claimed: 1, ends: { done: 1 } });
});
