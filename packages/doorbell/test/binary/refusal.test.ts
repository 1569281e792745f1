// Production refuses toys: each reason on its own line, all of them at once, exit code 78.
import { expect, test } from "vitest";
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
  expect(reasonsOf(stderr)).toEqual([refused("objects are in memory")]);
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
