// What a process says of itself over HTTP: whether it can work, and the numbers of the table.
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../support.ts";
import { Desk } from "./desk.ts";
import { nameOf, type Running } from "./support.ts";

let desk: Desk;
let running: Running;

beforeAll(async () => {
  desk = await Desk.open();
  running = await desk.work();
});

afterAll(() => desk[Symbol.asyncDispose]());

const page = async (): Promise<string> => (await running.get("/metrics")).text();

test("the gauges tell of the table: backlog, its age, scheduled, dead letters, in doubt, and who is missing", async () => {
  const acme = desk.tenant("acme");
  const other = desk.tenant("other");
  await other.enqueue("broken");
  await acme.enqueue("broken");
  await acme.enqueue("doubtful");
  await acme.enqueue("greet", "--run-after", "1h");
  await acme.enqueue("unknown to all");
  const metrics = await eventually("the jobs to have come to their ends", async () => {
    const text = await page();
    return text.includes('doorbell_dead_letters{kind="broken"} 2') &&
      text.includes('doorbell_in_doubt{kind="doubtful"} 1')
      ? text
      : null;
  });
  expect(metrics).toContain('doorbell_waiting{kind="doubtful"} 1');
  expect(metrics).toContain('doorbell_scheduled{kind="greet"} 1');
  expect(metrics).toContain('doorbell_backlog{kind="unknown to all"} 1');
  expect(metrics).toContain('doorbell_jobs_without_worker{kind="unknown to all"} 1');
  expect(metrics).toMatch(/doorbell_oldest_due_seconds\{kind="unknown to all"\} \d/);
  expect(metrics).toContain('doorbell_stuck{kind="unknown to all"} 0');
  for (const tenant of [acme.tenant, other.tenant]) expect(metrics).not.toContain(tenant);
});

test("a planted stuck lease shows in the gauge", async () => {
  const acme = desk.tenant("acme");
  const id = await acme.enqueue("stuck here", "--run-after", "1h");
  // Not due, so no sweep looks at it.
  await desk.database.query(
    "update doorbell.jobs set state = 'claimed', claimed_by = 'gone', claimed_at = now(), lease_until = now() - interval '1 s' where id = $1",
    [id],
  );
  expect(await page()).toContain('doorbell_stuck{kind="stuck here"} 1');
  expect(await acme.run("jobs", "show", id)).toMatch(/^next +its lease is over; the sweeper /m);
});

test("readiness is red while the database is away, with the reason, and green again when it is back", async () => {
  const name = nameOf(desk.database);
  const admin = new URL(desk.database.adminUrl);
  expect((await running.get("/readyz")).status).toBe(200);
  await desk.database.query(`alter database ${name} connection limit 0`);
  await desk.database.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and usename = 'app'",
  );
  try {
    const answer = await eventually("readiness to be red", async () => {
      const response = await running.get("/readyz");
      return response.status === 503 ? response : null;
    });
    const { ready, reasons } = (await answer.json()) as { ready: boolean; reasons: string[] };
    expect(ready).toBe(false);
    expect(reasons).toContain("postgres does not answer");
    expect(reasons.join()).not.toContain(admin.host);
    expect((await running.get("/healthz")).status).toBe(200);
    const metrics = await page();
    expect(metrics).not.toContain("doorbell_backlog{");
    expect(metrics).toMatch(/^doorbell_scrape_failures_total [1-9]/m);
  } finally {
    await desk.database.query(`alter database ${name} connection limit -1`);
  }
  await eventually("readiness to be green", async () => (await running.get("/readyz")).status === 200);
});

test("readiness is red when the worker can take no more jobs, with the reason, and the process lives", async () => {
  const full = await desk.work({ DOORBELL_CONCURRENCY: "1" });
  running.kill("SIGTERM");
  expect(await running.ended()).toBe(0);
  await desk.tenant("acme").enqueue("stubborn");
  const answer = await eventually("readiness to be red", async () => {
    const response = await full.get("/readyz");
    return response.status === 503 ? response : null;
  });
  expect(await answer.json()).toEqual({
    ready: false,
    reasons: ["1 handlers ignore their signal and fill the process"],
  });
  expect((await full.get("/healthz")).status).toBe(200);
});
