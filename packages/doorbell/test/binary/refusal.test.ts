// Production refuses toys: each reason on its own line, all of them at once, exit code 78.
import { describe, expect, onTestFinished, test } from "vitest";
import { havePgBouncer, startPgBouncer } from "../servers/pgbouncer.ts";
import { appFile, nameOf, ownDatabase, run, runProcess, scratchFolder } from "./support.ts";

const inProduction = (folder: string) => ({ NODE_ENV: "production", DOORBELL_OBJECTS: `file:${folder}/objects` });

const reasonsOf = (stderr: string): readonly string[] => stderr.trimEnd().split("\n");

const refused = (reason: string) => expect.stringMatching(`^doorbell: refused to start in production: .*${reason}`);

test("production without a database, and with queue and objects in memory, does not start", async () => {
  const env = { NODE_ENV: "production", DOORBELL_QUEUE: "memory:", DOORBELL_OBJECTS: "memory:" };
  const { code, stdout, stderr } = await runProcess(["start"], env);
  expect(code).toBe(78);
  expect(stdout).toBe("");
  expect(reasonsOf(stderr)).toEqual([
    refused("DATABASE_URL is not set"),
    refused("queue memory: is in memory"),
    refused("objects are in memory"),
  ]);
});

test("all reasons are told at once: who mends one does not meet the next", async () => {
  const database = await ownDatabase();
  await database.query(`alter database ${nameOf(database)} reset doorbell.embedded`);
  await database.query(`alter database ${nameOf(database)} set doorbell.tenant_id = 'acme'`);
  await database.query("alter table doorbell.jobs no force row level security");
  await database.query("create policy all_of_it on doorbell.effects using (true)");
  await database.query("insert into doorbell.migrations (name, checksum) values ('9999_later.sql', 'x')");
  const env = {
    NODE_ENV: "production",
    DATABASE_URL: database.adminUrl,
    DOORBELL_QUEUE: "memory:",
    DOORBELL_WEBHOOK_ALLOW_PRIVATE: "1",
  };
  const { code, stdout, stderr } = await run(["start", "--role", "worker", "--app", appFile], env);
  expect(code).toBe(78);
  expect(stdout).toBe("");
  expect(reasonsOf(stderr)).toEqual([
    refused("webhooks may reach private addresses"),
    refused("queue memory: is in memory"),
    refused("objects are in memory"),
    refused("the server is the embedded one"),
    refused("login postgres is a superuser"),
    refused("the schema is of a newer version"),
    refused("the policies of doorbell.effects are not those"),
    refused("row-level security of doorbell.jobs is not forced"),
    refused("doorbell.tenant_id has a value on a new connection"),
  ]);
});

test("a database that is not on loopback makes it production, unless something is said", async () => {
  const { appUrl } = await ownDatabase();
  const env = { DATABASE_URL: appUrl, DATABASE_DIRECT_URL: "postgres://app@db.internal/app" };
  const { code, stderr } = await run(["start"], env);
  expect(code).toBe(78);
  expect(reasonsOf(stderr)).toEqual([
    refused("objects are in memory"),
    refused("DATABASE_DIRECT_URL leaves this machine without TLS"),
  ]);
});

const onDatabase = (change: string): string =>
  `do $$ begin execute format('alter database %I ${change}', current_database()); end $$`;

test.each<[string, string, string]>([
  ["a disk that is not waited for", onDatabase("set synchronous_commit = off"), "synchronous_commit is off"],
  ["row-level security that raises errors", onDatabase("set row_security = off"), "row_security is off"],
  ["triggers and keys that are not minded", onDatabase("set session_replication_role = replica"), "is replica"],
  ["a tenant on a new connection", onDatabase("set doorbell.tenant_id = ''acme''"), "has a value on a new connection"],
  ["a table that a crash empties", "alter table doorbell.effects set unlogged", "doorbell.effects is UNLOGGED"],
  ["a key over all tenants", "create unique index on doorbell.jobs (id)", "is unique over all tenants"],
  [
    "a view that shows every tenant's jobs",
    "create view public.peek as select * from doorbell.jobs; grant select on public.peek to app",
    "view public.peek reads doorbell.jobs as its owner",
  ],
  [
    "a copy of every tenant's jobs",
    "create materialized view public.kept as select * from doorbell.jobs; grant select on public.kept to public",
    "policies cannot bind it",
  ],
  [
    "a table of nobody's",
    "create table doorbell.copy (n int); alter table doorbell.copy owner to doorbell_owner; grant select on doorbell.copy to app",
    "may read table doorbell.copy",
  ],
  [
    "a function that is given rows before the policies are asked",
    "create function public.peek(text) returns boolean language sql leakproof as 'select true'",
    "is LEAKPROOF",
  ],
  ["a table that anybody may write", "grant insert on doorbell.jobs to public", "PUBLIC may insert on doorbell.jobs"],
])("production with %s does not start", async (_, fault, reason) => {
  const database = await ownDatabase();
  await database.query(fault);
  const env = { ...inProduction(scratchFolder()), DATABASE_URL: database.appUrl };
  const { code, stdout, stderr } = await run(["start", "--app", appFile], env);
  expect({ code, stdout }).toEqual({ code: 78, stdout: "" });
  expect(reasonsOf(stderr)).toContainEqual(refused(reason));
});

test("production as the login that migrates, or with one that reads the log of all tenants, does not start", async () => {
  const database = await ownDatabase();
  const url = new URL(database.appUrl);
  url.username = "test_refused";
  await database.query(
    "create role test_refused login replication in role doorbell_worker, doorbell_web, doorbell_owner",
  );
  onTestFinished(async () => {
    await database.query("drop role test_refused");
  });
  const { code, stderr } = await run(["start"], { ...inProduction(scratchFolder()), DATABASE_URL: url.href });
  expect(code).toBe(78);
  expect(reasonsOf(stderr)).toEqual([
    refused("login test_refused has REPLICATION"),
    refused("login test_refused is, or may become, doorbell_owner"),
  ]);
});

test("production over a network without TLS, or behind a PgBouncer with known holes, does not start", async () => {
  const { appUrl } = await ownDatabase();
  // An address that reaches this machine, and is not loopback to whoever reads it.
  const url = new URL(appUrl);
  url.hostname = "0.0.0.0";
  const env = { ...inProduction(scratchFolder()), DATABASE_URL: url.href, DOORBELL_POOLER: "pgbouncer-1.18.0" };
  const { code, stderr } = await run(["start"], env);
  expect(code).toBe(78);
  expect(reasonsOf(stderr)).toEqual([
    refused("PgBouncer 1.18.0 has known holes"),
    refused("DATABASE_URL leaves this machine without TLS"),
  ]);
  const declared = { ...env, DOORBELL_POOLER: "pgbouncer-1.25.2", DOORBELL_DATABASE_ALLOW_PLAINTEXT: "1" };
  expect(await run(["start", "--app", "nowhere.js"], declared)).toMatchObject({ code: 2 }); // comes after the doctor
});

describe.skipIf(!havePgBouncer() && !process.env["CI"])("behind PgBouncer (needs pgbouncer)", () => {
  test("a pooler that takes no transactions is refused, in development too", async () => {
    const { adminUrl, appUrl } = await ownDatabase();
    const pooler = await startPgBouncer(adminUrl, 4, "statement");
    onTestFinished(() => pooler.stop());
    const url = new URL(pooler.url);
    url.username = new URL(appUrl).username;
    const { code, stderr } = await run(["start"], { NODE_ENV: "test", DATABASE_URL: url.href }, scratchFolder());
    expect(code).toBe(78);
    expect(reasonsOf(stderr)).toEqual([
      expect.stringMatching(/in development: .* does not keep the statements of a transaction together/),
    ]);
  });
});

test("a schema of another version is refused in development too, with what to run", async () => {
  const database = await ownDatabase();
  await database.query("insert into doorbell.migrations (name, checksum) values ('9999_later.sql', 'x')");
  const env = { NODE_ENV: "test", DATABASE_URL: database.appUrl };
  const { code, stderr } = await run(["start", "--role", "web"], env, scratchFolder());
  expect(code).toBe(78);
  expect(stderr).toMatch(/^doorbell: refused to start in development: .*does not know 9999_later\.sql .*newer/);
});

test("a database that does not answer is refused in development too, without a word of its password", async () => {
  const env = { NODE_ENV: "test", DATABASE_URL: "postgres://app:hunter2@127.0.0.1:1/app" };
  const { code, stderr } = await run(["start", "--role", "web"], env, scratchFolder());
  expect(code).toBe(78);
  expect(reasonsOf(stderr)).toEqual([expect.stringMatching(/ECONNREFUSED 127\.0\.0\.1:1 \(start Postgres/)]);
  expect(stderr).not.toContain("hunter2");
});

test("development tells what production would refuse, and starts", async () => {
  const database = await ownDatabase();
  await database.query("alter table doorbell.jobs no force row level security");
  const env = { ...inProduction(scratchFolder()), DATABASE_URL: database.appUrl };
  expect(await run(["start", "--app", appFile], env)).toMatchObject({ code: 78 });
  const { stdout, code } = await run(["start", "--app", "nowhere.js"], { ...env, NODE_ENV: "development" });
  expect(stdout).toMatch(/"code":"table_unforced".*"message":"production would refuse: row-level security/);
  expect(code).toBe(2); // for want of an application, which comes after the doctor
});
