// Work without a long-running worker: a function behind SQS, and one round of work. No worker is started in this file.
import { setTimeout as sleep } from "node:timers/promises";
import { DeleteMessageCommand, GetQueueUrlCommand, ReceiveMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { startFauxqs } from "fauxqs";
import { expect, onTestFinished, test } from "vitest";
import { createDoorbell, createLog, defineJob, fixed, handle, newId } from "../src/index.ts";
import { pushHandler, runOnce, type SqsEvent, sqsHandler } from "../src/lambda/index.ts";
import { eventually, Stage } from "./support.ts";

const work = defineJob({ kind: "work", retry: { maxAttempts: 3, backoff: fixed({ base: "20ms", jitter: 0 }) } });
const statesOf = (stage: Stage) =>
  stage.db.query("select state, attempts, count(*)::int as n from doorbell.all_jobs group by 1, 2 order by 1, 2");

/** As SQS hands them to a function: the doorbells of these jobs. */
function eventOf(bodies: readonly unknown[]): SqsEvent {
  return {
    Records: bodies.map((body, index) => ({
      messageId: `m${index}`,
      body: typeof body === "string" ? body : JSON.stringify(body),
    })),
  };
}
const bell = (id: string, tenant = "acme") => ({ job_id: id, tenant_id: tenant });
const contextOf = (remainingMs: number) => {
  const until = performance.now() + remainingMs;
  return { getRemainingTimeInMillis: () => until - performance.now() };
};

test("a function behind SQS runs the jobs that its messages name, and no other; duplicates and junk are done with as well", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const ran: string[] = [];
  const handler = sqsHandler({ doorbell, handlers: [handle(work, (job) => void ran.push(job.id))], concurrency: 2 });
  const receipts = await doorbell.enqueueMany(Array.from({ length: 6 }, () => ({ job: work, tenant: "acme" })));
  const ids = receipts.map(({ id }) => id);
  const named = ids.slice(0, 5);
  const twice = named.slice(0, 2).map((id) => bell(id));
  const stale = [bell(newId()), bell(String(ids[5]), "globex")];
  const event = eventOf([...named.map((id) => bell(id)), ...twice, "junk", { job_id: 1 }, ...stale]);
  expect(await handler(event, contextOf(30_000))).toEqual({ batchItemFailures: [] });
  expect(ran.sort()).toEqual([...named].sort());
  expect(await statesOf(stage)).toEqual([
    { state: "done", attempts: 1, n: 5 },
    { state: "queued", attempts: 0, n: 1 },
  ]);
  expect(await handler(event)).toEqual({ batchItemFailures: [] });
  expect(ran).toHaveLength(5);
});

test("a job that fails is no failed message: its retry is in Postgres", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const failing = handle(work, () => {
    throw new Error("not today");
  });
  const { id } = await doorbell.enqueue(work, {}, { tenant: "acme" });
  const handler = sqsHandler({ doorbell, handlers: [failing] });
  expect(await handler(eventOf([bell(id)]))).toEqual({ batchItemFailures: [] });
  expect(await stage.db.query("select state, attempts, last_error from doorbell.jobs")).toEqual([
    { state: "queued", attempts: 1, last_error: expect.stringContaining("not today") },
  ]);
});

test("messages that could not be claimed, because Postgres is away, are reported, and only these", async () => {
  const doorbell = createDoorbell({
    databaseUrl: "postgres://nobody@127.0.0.1:9/none",
    log: createLog({ level: "silent" }),
  });
  const handler = sqsHandler({ doorbell, handlers: [handle(work, () => {})] });
  expect(await handler(eventOf([bell(newId()), "junk", bell(newId())]), contextOf(20_000))).toEqual({
    batchItemFailures: [{ itemIdentifier: "m0" }, { itemIdentifier: "m2" }],
  });
  await (await doorbell).close();
});

test("a function answers before its time is up: what runs then is given back uncharged, and what had no slot comes again", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  let aborted = 0;
  const slow = handle(work, async (job) => {
    await new Promise((resolve) => job.signal.addEventListener("abort", resolve, { once: true }));
    aborted += 1;
  });
  const receipts = await doorbell.enqueueMany(Array.from({ length: 3 }, () => ({ job: work, tenant: "acme" })));
  const handler = sqsHandler({ doorbell, handlers: [slow], concurrency: 2 });
  const startedAt = performance.now();
  const context = contextOf(2_000);
  const answer = await handler(eventOf(receipts.map(({ id }) => bell(id))), context);
  expect(context.getRemainingTimeInMillis()).toBeGreaterThan(0);
  expect(performance.now() - startedAt).toBeGreaterThan(500);
  expect(answer).toEqual({ batchItemFailures: [{ itemIdentifier: "m2" }] });
  expect(aborted).toBe(2);
  const rows = await stage.db.query("select state, max_attempts - attempts as left from doorbell.jobs");
  expect(rows).toEqual(Array.from({ length: 3 }, () => ({ state: "queued", left: 3 })));
});

test("from the enqueue over SQS to a function: each job is done once, and its message is gone", async () => {
  await using stage = await Stage.open();
  process.env["AWS_ACCESS_KEY_ID"] ??= "test";
  process.env["AWS_SECRET_ACCESS_KEY"] ??= "test";
  const emulator = await startFauxqs({ port: 0, host: "127.0.0.1", logger: false });
  onTestFinished(() => emulator.stop());
  const url = `sqs://sqs.eu-central-1.amazonaws.com/000000000000/bells?endpoint=${emulator.address}`;
  const doorbell = await stage.client({ queue: url });
  const maintenance = doorbell.maintenance();
  maintenance.start();
  const ran: string[] = [];
  const handler = sqsHandler({ doorbell, handlers: [handle(work, (job) => void ran.push(job.id))] });
  const receipts = await doorbell.enqueueMany(
    Array.from({ length: 25 }, (_, n) => ({ job: work, tenant: `t${n % 3}` })),
  );

  // What Lambda's own poller does.
  const client = new SQSClient({ region: "eu-central-1", endpoint: emulator.address });
  const QueueUrl = await eventually("the queue", () =>
    client.send(new GetQueueUrlCommand({ QueueName: "bells" })).then(
      (answer) => answer.QueueUrl,
      () => null,
    ),
  );
  await eventually("all jobs to be done", async () => {
    const command = new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 1 });
    const { Messages = [] } = await client.send(command);
    const Records = Messages.map(({ MessageId = "", Body = "" }) => ({ messageId: MessageId, body: Body }));
    if (Records.length > 0) expect(await handler({ Records }, contextOf(20_000))).toEqual({ batchItemFailures: [] });
    for (const { ReceiptHandle } of Messages) await client.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
    return ran.length >= 25;
  });
  expect(ran.sort()).toEqual(receipts.map(({ id }) => id).sort());
  expect(await statesOf(stage)).toEqual([{ state: "done", attempts: 1, n: 25 }]);
  expect(emulator.inspectQueue("bells")?.messages).toEqual({ ready: [], delayed: [], inflight: [] });
  await maintenance.stop();
  client.destroy();
}, 30_000);

test("one round of work runs what is there, no more than it was told, and says what came of it", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  await doorbell.enqueueMany(Array.from({ length: 30 }, (_, n) => ({ job: work, tenant: `t${n % 3}`, payload: n })));
  let running = 0;
  let runningMost = 0;
  const handlers = [
    handle(work, async (job) => {
      running += 1;
      runningMost = Math.max(runningMost, running);
      await sleep(5);
      running -= 1;
      if (job.payload === 7 && job.attempt === 1) throw new Error("again");
    }),
  ];
  const first = await runOnce({ doorbell, handlers, maxJobs: 10, concurrency: 4 });
  expect(first).toMatchObject({ claimed: 10, because: "max_jobs", swept: { expired: 0, dead: 0, rung: 0 } });
  expect(runningMost).toBe(4);
  const second = await runOnce({ doorbell, handlers, concurrency: 4, sweeps: false });
  expect(second).toMatchObject({ because: "empty", swept: null });
  await sleep(50);
  const third = await runOnce({ doorbell, handlers });
  const { done = 0, retry = 0 } = second.ends;
  expect({
    done: (first.ends.done ?? 0) + done + (third.ends.done ?? 0),
    retry: (first.ends.retry ?? 0) + retry,
  }).toEqual({ done: 30, retry: 1 });
  expect(await statesOf(stage)).toEqual([
    { state: "done", attempts: 1, n: 29 },
    { state: "done", attempts: 2, n: 1 },
  ]);
});

test("one round finds what was lost, and runs what its own jobs enqueue", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const child = defineJob({ kind: "child" });
  const ran: string[] = [];
  const handlers = [
    handle(work, async (job) => {
      await sleep(100);
      await doorbell.enqueue(child, {}, { tenant: job.tenant });
    }),
    handle(child, (job) => void ran.push(job.id)),
  ];
  await doorbell.enqueue(work, {}, { tenant: "acme" });
  await stage.db.query("update doorbell.jobs set run_after = run_after - interval '1 min'");
  await stage.db.query("delete from doorbell.doorbells");
  const report = await runOnce({ doorbell, handlers, concurrency: 5 });
  expect(report).toMatchObject({ claimed: 2, ends: { done: 2 }, because: "empty", swept: { rung: 1 } });
  expect(ran).toHaveLength(1);
});

test("one round takes from the line what nobody has rung into the queue, and from the queue what was", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client({ queue: "memory:" });
  const { id } = await doorbell.enqueue(work, {}, { tenant: "acme" });
  await doorbell.client.queue.send("default", [bell(id)]);
  await stage.db.query("delete from doorbell.doorbells");
  await doorbell.enqueue(work, {}, { tenant: "globex" });
  const report = await runOnce({ doorbell, handlers: [handle(work, () => {})], sweeps: false });
  expect(report).toMatchObject({ claimed: 2, ends: { done: 2 }, because: "empty" });
});

test("a round whose time is up gives back what runs, and rejects when Postgres is away", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  await doorbell.enqueueMany(Array.from({ length: 3 }, () => ({ job: work, tenant: "acme" })));
  const handlers = [handle(work, (job) => new Promise((resolve) => job.signal.addEventListener("abort", resolve)))];
  const report = await runOnce({ doorbell, handlers, concurrency: 2, deadlineMs: 1_000 });
  expect(report).toMatchObject({ claimed: 2, ends: { release: 2 }, because: "deadline" });
  expect(report.tookMs).toBeLessThan(2_500);
  const away = await createDoorbell({
    databaseUrl: "postgres://nobody@127.0.0.1:9/none",
    log: createLog({ level: "silent" }),
  });
  await expect(runOnce({ doorbell: away, handlers, deadlineMs: 5_000 })).rejects.toMatchObject({
    code: "database_unavailable",
  });
  await away.close();
});

test("a container that a queue pushes to has run the job when it answers; what it could not decide is to come again", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const ran: string[] = [];
  const secret = "a-secret-that-only-the-queue-has-got";
  const push = (handler: (request: Request) => Promise<Response>, body: unknown) =>
    handler(
      new Request("http://localhost/v1/push", {
        method: "POST",
        headers: { authorization: `Bearer ${secret}` },
        body: JSON.stringify(body),
      }),
    );
  const quick = handle(work, async (job) => {
    await sleep(50);
    ran.push(job.id);
  });
  const { id } = await doorbell.enqueue(work, {}, { tenant: "acme" });
  const answer = await push(pushHandler({ doorbell, handlers: [quick], secret }), [bell(id), bell(id), "junk"]);
  expect([answer.status, ran]).toEqual([204, [id]]);
  expect(await statesOf(stage)).toEqual([{ state: "done", attempts: 1, n: 1 }]);

  const away = await createDoorbell({
    databaseUrl: "postgres://nobody@127.0.0.1:9/none",
    log: createLog({ level: "silent" }),
  });
  const refused = await push(pushHandler({ doorbell: away, handlers: [quick], secret }), bell(id));
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
  await away.close();
});
