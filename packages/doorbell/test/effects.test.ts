// The ledger, with real processes that die at the worst moment and a receiver that counts.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import pg from "pg";
import { afterEach, expect, test } from "vitest";
import { defineJob, fixed, handle } from "../src/index.ts";
import { Child } from "./child.ts";
import { eventually, Stage, signal } from "./support.ts";

let server: Server | null = null;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = null;
});

/** A receiver: what came, by webhook-id, and what to do before and after an answer. */
async function receiver(onAnswered: () => void = () => {}): Promise<{ readonly url: string; readonly ids: string[] }> {
  const ids: string[] = [];
  server = createServer((request, response) => {
    request.resume().on("end", () => {
      ids.push(String(request.headers["webhook-id"] ?? "none"));
      response.writeHead(200).end("ok", onAnswered);
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, ids };
}

/** Holds up the recording of outcomes until it is released. */
async function holdOutcomes(stage: Stage): Promise<() => Promise<void>> {
  const client = new pg.Client(stage.db.adminUrl);
  await client.connect();
  await client.query("begin; lock table doorbell.effect_outcomes in share mode");
  return async () => {
    await client.query("rollback");
    await client.end();
  };
}

async function endLedgerSessions(stage: Stage): Promise<void> {
  await stage.db.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'doorbell ledger' and datname = current_database()",
  );
}

const jobState = async (stage: Stage, id: string) =>
  (
    await stage.db.query<{ state: string; attempts: number }>(
      "select state, attempts from doorbell.all_jobs where id = $1",
      [id],
    )
  )[0];
const effectState = async (stage: Stage, id: string) =>
  (
    await stage.db.query<{ key: string; n: number; outcome: string | null }>(
      "select key, n, outcome from doorbell.effect_states where job_id = $1",
      [id],
    )
  )[0];

test("killed after the receiver has answered and before that is on record: in doubt, and a webhook is sent again with the same id", async () => {
  await using stage = await Stage.open();
  const client = await stage.client();
  const answered = signal();
  const { url, ids } = await receiver(() => answered.resolve());
  const env = { DATABASE_URL: stage.db.appUrl, WEBHOOK_URL: url, LEASE: "1s" };
  const release = await holdOutcomes(stage);
  const first = await Child.start("worker-process.ts", env);
  const { id } = await client.enqueue(defineJob({ kind: "hook" }), {}, { tenant: "acme" });
  await answered.promise;
  first.kill("SIGKILL");
  await first.ended();
  // Postgres would finish a statement that it was sent; the kill came before the worker could send it.
  await endLedgerSessions(stage);
  await release();
  expect(await effectState(stage, id)).toMatchObject({ n: 1, outcome: null });

  await using second = await Child.start("worker-process.ts", env);
  await second.hears("started", (told) => told["attempt"] === 2);
  await eventually("the job to be done", async () => (await jobState(stage, id))?.state === "done");
  expect(ids).toEqual([ids[0], ids[0]]);
  expect(ids[0]).toMatch(/^msg_/);
  expect(await effectState(stage, id)).toMatchObject({ n: 2, outcome: "completed" });
});

test("killed in the middle of an effect of one's own: the job waits, shown as in doubt, and the effect is not called again", async () => {
  await using stage = await Stage.open();
  const client = await stage.client();
  const answered = signal();
  const { url, ids } = await receiver(() => answered.resolve());
  const env = { DATABASE_URL: stage.db.appUrl, WEBHOOK_URL: url, LEASE: "1s" };
  const release = await holdOutcomes(stage);
  const first = await Child.start("worker-process.ts", env);
  const { id } = await client.enqueue(defineJob({ kind: "charge" }), {}, { tenant: "acme" });
  await answered.promise;
  first.kill("SIGKILL");
  await first.ended();
  await endLedgerSessions(stage);
  await release();
  await using second = await Child.start("worker-process.ts", env);
  await second.hears("started", (told) => told["attempt"] === 2);
  await eventually("the job to wait", async () => (await jobState(stage, id))?.state === "waiting");
  expect(ids).toHaveLength(1);
  expect(await stage.db.query("select waiting::int, in_doubt::int from doorbell.stats()")).toEqual([
    { waiting: 1, in_doubt: 1 },
  ]);
  const answer =
    "select doorbell.resolve_effect('acme', $1, 'charge', 'not_done', null, 'the bank knows nothing', 'ann') as answer";
  expect(await stage.db.query(answer, [id])).toEqual([{ answer: "resolved" }]);
  await eventually("the job to be done", async () => (await jobState(stage, id))?.state === "done");
  expect(ids).toHaveLength(2);
});

test("an effect of one's own that is in doubt parks the job, until a person answers; what they say is what the handler gets", async () => {
  await using stage = await Stage.open();
  const client = await stage.client();
  const calls: number[] = [];
  const charge = defineJob({ kind: "charge", retry: { maxAttempts: 5, backoff: fixed({ base: "20ms", jitter: 0 }) } });
  const worker = await stage.worker(client, [
    handle(charge, async (job) => {
      return await job.effect("charge", {
        request: { cents: 100 },
        do: () => {
          calls.push(job.attempt);
          throw Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
        },
      });
    }),
  ]);
  const { id } = await client.enqueue(charge, {}, { tenant: "acme" });
  await eventually("the job to wait", async () => (await jobState(stage, id))?.state === "waiting");
  expect(calls).toEqual([1]);
  expect(await effectState(stage, id)).toMatchObject({ key: "charge", n: 1, outcome: "unknown" });
  const answer = "select doorbell.resolve_effect('acme', $1, 'charge', $2, $3, 'asked the bank', 'ann') as answer";
  expect(await stage.db.query(answer, [id, "completed", JSON.stringify({ receipt: 7 })])).toEqual([
    { answer: "resolved" },
  ]);
  await eventually("the job to be done", async () => (await jobState(stage, id))?.state === "done");
  expect(await stage.db.query("select result from doorbell.job_history where id = $1", [id])).toEqual([
    { result: { receipt: 7 } },
  ]);
  expect(calls).toEqual([1]);
  expect(await stage.db.query(answer, [id, "not_done", null])).toEqual([{ answer: "not_in_doubt" }]);
  await worker.drain();
});

test("a refused connection is not done, and is simply tried again", async () => {
  await using stage = await Stage.open();
  const client = await stage.client();
  const { url, ids } = await receiver();
  server?.close();
  server = null;
  const hook = defineJob({ kind: "hook", retry: { maxAttempts: 5, backoff: fixed({ base: "50ms", jitter: 0 }) } });
  let target = url;
  await stage.worker(
    client,
    [handle(hook, (job) => job.webhook({ url: target, event: "test.done", data: {}, key: "hook" }))],
    { allowPrivateWebhooks: true },
  );
  const { id } = await client.enqueue(hook, {}, { tenant: "acme" });
  await eventually(
    "the first refusal",
    async () => (await stage.db.query("select from doorbell.effect_outcomes where outcome = 'not_done'")).length > 0,
  );
  const live = await receiver();
  target = live.url;
  await eventually("the job to be done", async () => (await jobState(stage, id))?.state === "done");
  expect(live.ids).toHaveLength(1);
  expect(ids).toHaveLength(0);
  const outcomes = await stage.db.query<{ outcome: string }>("select outcome from doorbell.effect_outcomes order by n");
  expect(outcomes.at(-1)).toEqual({ outcome: "completed" });
  expect(outcomes.slice(0, -1).every((row) => row.outcome === "not_done")).toBe(true);
});

test("completed effects are skipped on a retry and on a replay, with the value of the first run; the attempts go on counting", async () => {
  await using stage = await Stage.open();
  const client = await stage.client();
  const calls: string[] = [];
  const values: unknown[] = [];
  const work = defineJob({ kind: "work", retry: { maxAttempts: 3, backoff: fixed({ base: "20ms", jitter: 0 }) } });
  await stage.worker(client, [
    handle(work, async (job) => {
      values.push(
        await job.effect("a", {
          do: () => {
            calls.push("a");
            return { when: "2026-01-01", list: [1, 2] };
          },
        }),
      );
      await job.usage("pages", 3);
      if (job.attempt === 1) throw new Error("after the effect");
      return { attempt: job.attempt };
    }),
  ]);
  const { id } = await client.enqueue(work, {}, { tenant: "acme" });
  await eventually("the job to be done", async () => (await jobState(stage, id))?.state === "done");
  expect(await stage.db.query("select answer from doorbell.replay('acme', array[$1::uuid])", [id])).toEqual([
    { answer: "replayed" },
  ]);
  const row = await eventually("the replay to be done", async () => {
    const found = (
      await stage.db.query<{ state: string; attempts: number; result: unknown }>(
        "select state, attempts, result from doorbell.all_jobs where id = $1",
        [id],
      )
    )[0];
    return found?.state === "done" && found;
  });
  expect(row).toEqual({ state: "done", attempts: 3, result: { attempt: 3 } });
  expect(calls).toEqual(["a"]);
  expect(values).toEqual(Array(3).fill({ when: "2026-01-01", list: [1, 2] }));
  expect(await stage.db.query("select meter, amount::int from doorbell.usage_counters")).toEqual([
    { meter: "pages", amount: 3 },
  ]);
  expect(
    await stage.db.query("select attempt, outcome from doorbell.attempts where job_id = $1 order by 1", [id]),
  ).toEqual([
    { attempt: 1, outcome: "retry" },
    { attempt: 2, outcome: "done" },
  ]);
});

test("one key for two effects is refused", async () => {
  await using stage = await Stage.open();
  const client = await stage.client();
  const calls: number[] = [];
  const loop = defineJob({ kind: "loop" });
  await stage.worker(client, [
    handle(loop, async (job) => {
      for (const n of [1, 2]) await job.effect("pay", { do: () => void calls.push(n) });
    }),
  ]);
  const { id } = await client.enqueue(loop, {}, { tenant: "acme" });
  await eventually("the job to fail", async () => (await jobState(stage, id))?.state === "failed");
  expect(calls).toEqual([1]);
  expect(await stage.db.query("select error_code from doorbell.dead_letters")).toEqual([
    { error_code: "effect_conflict" },
  ]);
});
