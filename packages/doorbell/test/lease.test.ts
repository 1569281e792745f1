// Leases, fences and processes that die, hang and freeze.
import { expect, test } from "vitest";
import { defineJob } from "../src/index.ts";
import { Child } from "./child.ts";
import { eventually, Stage } from "./support.ts";

const rowOf = async (stage: Stage, id: string) => {
  const [row] = await stage.db.query<{
    state: string;
    attempts: number;
    result: unknown;
    error_code: string;
    last_error: string;
    max_attempts: number;
  }>("select state, attempts, max_attempts, result, error_code, last_error from doorbell.all_jobs where id = $1", [id]);
  return row;
};
const settled = (stage: Stage, id: string) =>
  eventually(
    "the job to settle",
    async () => {
      const row = await rowOf(stage, id);
      return row !== undefined && ["done", "failed", "cancelled"].includes(row.state) && row;
    },
    20_000,
  );

test("a handler that blocks the event loop for three leases is not run twice", async () => {
  await using stage = await Stage.open();
  const client = await stage.client();
  const env = { DATABASE_URL: stage.db.appUrl, BLOCK_MS: "3000", LEASE: "1s" };
  await using one = await Child.start("worker-process.ts", env);
  await using two = await Child.start("worker-process.ts", env);
  const { id } = await client.enqueue(defineJob({ kind: "block" }), {}, { tenant: "acme" });
  expect(await settled(stage, id)).toMatchObject({ state: "done", attempts: 1 });
  expect([...one.told, ...two.told].filter((told) => told.what === "started")).toHaveLength(1);
});

test("a frozen worker that wakes up past its lease can complete nothing, begin nothing and report no success; only its effect under way is recorded", async () => {
  await using stage = await Stage.open();
  const client = await stage.client();
  const env = { DATABASE_URL: stage.db.appUrl, LEASE: "1s" };
  await using frozen = await Child.start("worker-process.ts", env);
  const { id } = await client.enqueue(defineJob({ kind: "freeze" }), {}, { tenant: "acme" });
  await frozen.hears("under way");
  frozen.kill("SIGSTOP");
  await using other = await Child.start("worker-process.ts", env);
  await other.hears("started", (told) => told["attempt"] === 2);
  const done = await settled(stage, id);
  expect(done).toMatchObject({ state: "done", attempts: 2, result: "second" });

  frozen.kill("SIGCONT");
  expect((await frozen.hears("awake"))["refused"]).toBe("lease_lost");
  await frozen.hears("log", (told) => (told["line"] as { message: string }).message.startsWith("the lease was lost"));
  expect(await rowOf(stage, id)).toEqual(done);
  const lines = frozen.told
    .filter((told) => told.what === "log")
    .map((told) => (told["line"] as { message: string }).message);
  expect(lines.filter((line) => line.includes("done"))).toEqual([]);
  const outcomes = await stage.db.query("select key, n, outcome, value from doorbell.effect_outcomes order by n");
  expect(outcomes).toEqual([
    { key: "under way", n: 1, outcome: "completed", value: "first" },
    { key: "under way", n: 2, outcome: "completed", value: "second" },
  ]);
});

test("a job that kills its process is a dead letter after its last attempt, with that reason, and with the lines of each attempt", async () => {
  await using stage = await Stage.open();
  const client = await stage.client();
  const { id } = await client.enqueue(
    defineJob({ kind: "suicide", retry: { maxAttempts: 3 } }),
    {},
    { tenant: "acme" },
  );
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    await using child = await Child.start("worker-process.ts", { DATABASE_URL: stage.db.appUrl, LEASE: "1s" });
    await child.hears("started", (told) => told["attempt"] === attempt);
    expect(await child.ended()).toBe("SIGKILL");
  }
  await using survivor = await Child.start("worker-process.ts", { DATABASE_URL: stage.db.appUrl, LEASE: "1s" });
  const row = await settled(stage, id);
  expect(row).toMatchObject({ state: "failed", attempts: 3, error_code: "lease_lost" });
  expect(row.last_error).toContain("died or stalled");
  expect(survivor.told.filter((told) => told.what === "started")).toEqual([]);
  const lines = await stage.db.query(
    "select attempt, message from doorbell.job_logs where job_id = $1 order by attempt",
    [id],
  );
  expect(lines).toEqual([1, 2, 3].map((attempt) => ({ attempt, message: "going down" })));
});

test("on SIGTERM a worker finishes what it can, gives back the rest without charging the attempt, and exits with 0", async () => {
  await using stage = await Stage.open();
  const client = await stage.client();
  await using child = await Child.start("worker-process.ts", {
    DATABASE_URL: stage.db.appUrl,
    LEASE: "10s",
    GRACE: "1s",
  });
  const slow = defineJob({ kind: "slow" });
  const short = await client.enqueue(slow, 300, { tenant: "acme" });
  const long = await client.enqueue(slow, 60_000, { tenant: "acme" });
  await child.hears("started", (told) => told["job"] === long.id);
  child.kill("SIGTERM");
  await child.hears("log", (told) => (told["line"] as { message: string }).message === "worker draining");
  const late = await client.enqueue(slow, 1, { tenant: "acme" });
  expect(await child.ended()).toBe(0);
  expect(await rowOf(stage, short.id)).toMatchObject({ state: "done" });
  expect(await rowOf(stage, long.id)).toMatchObject({ state: "queued", attempts: 1, max_attempts: 11 });
  expect(await rowOf(stage, late.id)).toMatchObject({ state: "queued", attempts: 0 });
});
