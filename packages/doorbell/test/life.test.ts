import { expect, test } from "vitest";
import { defineJob, fixed, handle, PermanentError, snooze } from "../src/index.ts";
import { eventually, Stage } from "./support.ts";

const kind = (name: string) =>
  defineJob({ kind: name, retry: { maxAttempts: 3, backoff: fixed({ base: "50ms", jitter: 0 }) } });

const stateOf = async (stage: Stage, id: string) => {
  const [row] = await stage.db.query<{
    state: string;
    attempts: number;
    result: unknown;
    error_code: string | null;
    last_error: string | null;
  }>("select state, attempts, result, error_code, last_error from doorbell.all_jobs where id = $1", [id]);
  return row;
};

test("a job that is enqueued is handled once, and its result is kept", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const greet = kind("greet");
  const seen: unknown[] = [];
  await stage.worker(doorbell, [
    handle(greet, async (job) => {
      seen.push(job.payload);
      return { hello: job.tenant };
    }),
  ]);
  const receipt = await doorbell.enqueue(greet, { n: 1 }, { tenant: "acme" });
  const row = await eventually("the job to be done", async () => {
    const found = await stateOf(stage, receipt.id);
    return found?.state === "done" && found;
  });
  expect(row).toMatchObject({ state: "done", attempts: 1, result: { hello: "acme" } });
  expect(seen).toEqual([{ n: 1 }]);
});

test("a failure is retried after its backoff, and the last one is a dead letter with its reason", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const flaky = kind("flaky");
  const hopeless = kind("hopeless");
  const permanent = kind("permanent");
  await stage.worker(doorbell, [
    handle(flaky, async (job) => {
      if (job.attempt < 3) throw new Error(`not yet ${job.attempt}`);
      return "at last";
    }),
    handle(hopeless, async () => {
      throw new TypeError("never");
    }),
    handle(permanent, async () => {
      throw new PermanentError("unreadable", "this document cannot be read");
    }),
  ]);
  const ids = await Promise.all(
    [flaky, hopeless, permanent].map((job) => doorbell.enqueue(job, {}, { tenant: "acme" })),
  );
  const rows = await eventually("all three to end", async () => {
    const found = await Promise.all(ids.map(({ id }) => stateOf(stage, id)));
    return found.every((row) => row?.state === "done" || row?.state === "failed") && found;
  });
  expect(rows[0]).toMatchObject({ state: "done", attempts: 3, result: "at last" });
  expect(rows[1]).toMatchObject({ state: "failed", attempts: 3, error_code: "TypeError" });
  expect(rows[1]?.last_error).toContain("never");
  expect(rows[2]).toMatchObject({ state: "failed", attempts: 1, error_code: "unreadable" });
});

test("a snooze gives the attempt back without ever lowering attempts", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const nap = kind("nap");
  await stage.worker(doorbell, [handle(nap, (job) => (job.attempt < 5 ? snooze("10ms") : "awake"))]);
  const { id } = await doorbell.enqueue(nap, {}, { tenant: "acme" });
  const row = await eventually("the job to be done", async () => {
    const found = await stateOf(stage, id);
    return found?.state === "done" && found;
  });
  expect(row.attempts).toBe(5);
});
