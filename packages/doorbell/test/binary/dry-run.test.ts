// A dry run of handlers: what it tells, and that nothing of it is left, neither in the database nor outside.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { Desk, type TenantDesk } from "./desk.ts";
import { appFile, type Running, run } from "./support.ts";

let desk: Desk;
let running: Running;

beforeAll(async () => {
  desk = await Desk.open();
  await desk.database.query(
    "create table public.prices (tenant text, price int); grant all on public.prices to public",
  );
  running = await desk.work();
});

afterAll(() => desk[Symbol.asyncDispose]());

interface DryRun {
  readonly id: string;
  readonly now: string;
  readonly stopped_at: string | null;
  readonly differs: readonly { readonly path: string; readonly stored: unknown; readonly now: unknown }[];
}

/** With these variables, which the handlers of this process see, and those of the worker do not. */
function dryRun(tenant: TenantDesk, env: Record<string, string>, ...args: readonly string[]) {
  return run(["replay", ...args, "--dry-run", "--app", appFile, "--tenant", tenant.tenant], { ...desk.env, ...env });
}

async function told(tenant: TenantDesk, env: Record<string, string>, ...args: readonly string[]): Promise<DryRun[]> {
  return JSON.parse((await dryRun(tenant, env, ...args, "--json")).stdout);
}

/** Every row that this database has of anything, but for what processes say of themselves. */
async function everything(): Promise<unknown> {
  const tables = await desk.database.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
      where schemaname in ('doorbell', 'public') and tablename not in ('workers', 'milestones') order by 1`,
  );
  const contents: [string, unknown][] = [];
  for (const { name } of tables) {
    contents.push([name, await desk.database.query(`select r::text from ${name} r order by 1`)]);
  }
  return contents;
}

test("a handler that computes the same ends as it did, and one that was changed tells each field that differs", async () => {
  const acme = desk.tenant("acme");
  const id = await acme.enqueue("priced");
  await desk.until(id, "done");
  const same = await dryRun(acme, {}, id);
  expect(same).toMatchObject({
    code: 0,
    stdout: "",
    stderr: expect.stringMatching(/1 jobs: 1 end as they did, 0 end otherwise/),
  });
  expect(await told(acme, { FIXTURE_RATE: "3" }, id)).toEqual([
    {
      id,
      kind: "priced",
      object_key: null,
      was: "done",
      now: "done",
      stopped_at: null,
      error: null,
      differs: [
        { path: "lines[0].amount", stored: 20, now: 30 },
        { path: "price", stored: 20, now: 30 },
      ],
    },
  ]);
  const shown = await dryRun(acme, { FIXTURE_RATE: "3" }, id);
  expect(shown.code).toBe(1);
  expect(shown.stdout).toContain(`${id}: lines[0].amount: 20 → 30\n`);
});

test("nothing of a dry run is left: no row, no log line, no attempt, and no call, also where the handler swallows the refusal", async () => {
  const calls: string[] = [];
  const server = createServer((request, response) => {
    calls.push(request.url ?? "");
    response.end("ok");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const acme = desk.tenant("acme");
  const id = await acme.enqueue("priced", "--payload", JSON.stringify({ url }));
  await desk.until(id, "done");
  running.kill("SIGTERM");
  await running.ended();
  onTestFinished(async () => {
    running = await desk.work();
  });
  const before = await everything();
  for (const [FIXTURE_CALLS, stopped_at] of [
    ["effect", "effect more"],
    ["webhook", expect.stringMatching(/^webhook webhook:priced:/)],
    ["email", expect.stringMatching(/^email email:/)],
    ["usage", "usage usage:calls"],
    ["spawn", "spawn greet"],
    ["waitFor", "waitFor paid"],
  ] as const) {
    expect(await told(acme, { FIXTURE_CALLS }, id)).toMatchObject([{ now: "stopped", stopped_at, differs: [] }]);
    expect(await told(acme, { FIXTURE_CALLS, FIXTURE_SWALLOWS: "1" }, id)).toMatchObject([
      { now: "stopped", stopped_at },
    ]);
    expect((await dryRun(acme, { FIXTURE_CALLS }, id)).code).toBe(1);
  }
  for (const FIXTURE_CALLS of ["commit", "two statements", "enqueue", "objects", "worker"]) {
    expect(await told(acme, { FIXTURE_CALLS }, id)).toMatchObject([
      {
        now: "threw",
        error: expect.stringMatching(/dry run/),
        differs: [{ path: "(end)", stored: "done", now: "threw" }],
      },
    ]);
  }
  expect(await told(acme, { FIXTURE_CALLS: "enqueue in its transaction" }, id)).toMatchObject([
    { now: "done", differs: [] },
  ]);
  expect(await everything()).toEqual(before);
  expect(calls).toEqual([]);
});

test("a whole day of a tenant: jobs of every end, many at once, with a summary; open jobs and kinds without a handler are told", async () => {
  const acme = desk.tenant("acme");
  const ids = await Promise.all(Array.from({ length: 12 }, () => acme.enqueue("priced")));
  for (const id of ids) await desk.until(id, "done");
  const day = ["--state", "done", "--since", "1h", "--concurrency", "6"];
  expect(await dryRun(acme, {}, ...day)).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^doorbell: 12 jobs: 12 end as they did/),
  });
  const changed = await dryRun(acme, { FIXTURE_RATE: "4" }, ...day);
  expect(changed).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/12 jobs: 0 end as they did, 12 end otherwise, 0 throw/),
  });
  expect(await dryRun(acme, {}, "--state", "done", "--until", "1h")).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/no job matches/),
  });

  const broken = await acme.enqueue("broken");
  await desk.until(broken, "failed");
  expect(await told(acme, {}, broken)).toMatchObject([{ was: "failed", now: "threw", differs: [] }]);
  const open = await acme.enqueue("greet", "--run-after", "1h");
  expect(await told(acme, {}, open)).toMatchObject([{ now: "open" }]);
  const strange = await acme.enqueue("strange", "--run-after", "1h");
  await acme.run("jobs", "cancel", strange);
  expect(await told(acme, {}, strange)).toMatchObject([{ now: "no_handler" }]);
});
