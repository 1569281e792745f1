// What the command line makes of itself: help, mistakes, exit codes, output that nobody reads, and the schema's commands.

import { once } from "node:events";
import { writeFileSync } from "node:fs";
import pg from "pg";
import { expect, test } from "vitest";
import { newId } from "../../src/core/ids.ts";
import { eventually } from "../support.ts";
import { type Ended, launch, nameOf, ownDatabase, run, runProcess, scratchFolder } from "./support.ts";

test("every command and every option explains itself", async () => {
  const explained: string[] = [];
  const explain = async (...command: readonly string[]): Promise<void> => {
    const { code, stdout } = await run([...command, "--help"]);
    expect(code).toBe(0);
    explained.push(command.join(" "));
    for (const line of stdout.split("\n")) {
      // An option or command that is not followed by words, on its line or on the next one, says nothing.
      expect(line, `doorbell ${command.join(" ")} --help`).not.toMatch(/^ {2}\S.*[>\]]$/);
    }
    const commands = stdout.split("\nCommands:\n")[1] ?? "";
    for (const [, child = ""] of commands.matchAll(/^ {2}([a-z-]+)/gm)) {
      if (child !== "help") await explain(...command, child);
    }
  };
  await explain();
  expect(explained).toEqual([
    "",
    "start",
    "migrate",
    "doctor",
    "sweep",
    "stats",
    "check",
    "enqueue",
    "jobs",
    "jobs list",
    "jobs show",
    "jobs cancel",
    "logs",
    "replay",
    "dead-letters",
    "dead-letters list",
    "dead-letters replay",
    "dead-letters discard",
    "events",
    "events emit",
    "breakers",
    "breakers list",
    "breakers close",
    "effects",
    "effects list",
    "effects resolve",
    "objects",
    "objects put",
    "objects get",
    "objects list",
    "webhooks",
    "webhooks list",
    "webhooks add",
    "webhooks remove",
    "webhooks rotate",
    "webhooks enable",
    "webhooks disable",
    "webhooks deliveries",
  ]);
});

test.each<[string, readonly string[], RegExp]>([
  ["no command", [], /^Usage: doorbell /],
  ["a command in the place of its commands", ["jobs"], /^Usage: doorbell jobs /],
  ["an unknown command", ["strat"], /^doorbell: unknown command 'strat' .*start.*; see doorbell --help\n$/],
  [
    "an unknown command below",
    ["jobs", "lst"],
    /^doorbell: unknown command 'lst' .*list.*; see doorbell jobs --help\n$/,
  ],
  ["an unknown option", ["stats", "--bogus"], /^doorbell: unknown option '--bogus'; see doorbell stats --help\n$/],
  [
    "no tenant",
    ["jobs", "list"],
    /^doorbell: required option '--tenant <id>' not specified; see doorbell jobs list --/,
  ],
  ["a tenant that is none", ["jobs", "list", "--tenant", "*"], /^doorbell: option .*stands for all tenants; see/],
  ["an empty tenant", ["jobs", "list", "--tenant", ""], /^doorbell: option '--tenant <id>': tenant id is empty; see/],
  [
    "a tenant of 10,000 characters",
    ["jobs", "list", "--tenant", "t".repeat(10_000)],
    /^doorbell: option '--tenant <id>': tenant id is longer than 200 bytes; see doorbell jobs list --help\n$/,
  ],
  ["a job that is no id", ["logs", "7", "--tenant", "acme"], /^doorbell: argument 'job': not a UUID: 7; see/],
  ["a state that is none", ["jobs", "list", "--tenant", "a", "--state", "dead"], /choices are queued, claimed/],
  ["a bad setting", ["start", "--role", "boss"], /^doorbell: --role is "boss"; choose web, worker, all\n$/],
  ["objects in memory", ["objects", "list", "--tenant", "a"], /^doorbell: the object store .* DOORBELL_OBJECTS\n$/],
])("%s is a usage error: exit code 2, and what is wrong", async (_, args, stderr) => {
  const env = { DATABASE_URL: "postgres://app@127.0.0.1:1/app", DOORBELL_OBJECTS: "memory:" };
  const ended = await run(args, env);
  expect(ended).toMatchObject({ code: 2, stdout: "" });
  expect(ended.stderr).toMatch(stderr);
});

test("an error about the database says nothing that is secret", async () => {
  const { adminUrl } = await ownDatabase();
  const unknown = new URL(adminUrl);
  unknown.username = "nobody";
  unknown.password = "hunter2";
  const commands: readonly (readonly [number, string])[] = [
    [1, "postgres://app:hunter2@127.0.0.1:1/app"],
    [1, unknown.href],
    [2, "postgres://app:hunter2@127.0.0.1:port/app"],
    [2, "mysql://app:hunter2@127.0.0.1/app"],
  ];
  for (const [code, url] of commands) {
    const ended = await run(["jobs", "list", "--tenant", "acme"], { DATABASE_URL: url });
    expect(ended).toMatchObject({ code, stdout: "", stderr: expect.stringMatching(/^doorbell: .+\n$/) });
    expect(ended.stderr).not.toContain("hunter2");
  }
});

test("as a process it ends with the same exit codes, and writes to the same ends", async () => {
  const { appUrl } = await ownDatabase();
  const env = { DATABASE_URL: appUrl };
  const both = async (...args: readonly string[]): Promise<readonly [Ended, Ended]> => [
    await runProcess(args, env),
    await run(args, env),
  ];
  const commands: readonly (readonly [number, ...string[]])[] = [
    [0, "--version"],
    [0, "jobs", "list", "--tenant", "acme", "--json"],
    [1, "jobs", "show", newId(), "--tenant", "acme"],
    [2, "jobs", "shwo"],
  ];
  for (const [code, ...args] of commands) {
    const [process, here] = await both(...args);
    expect(process).toMatchObject({ code });
    expect(process).toEqual(here);
  }
});

test("whoever stops reading, as head does, ends the command, and that is no failure", async () => {
  const child = launch(["migrate", "--sql"]);
  const [first] = await once(child.stdout ?? child, "data");
  child.stdout?.destroy();
  let stderr = "";
  child.stderr?.on("data", (chunk) => {
    stderr += chunk;
  });
  const [code] = await once(child, "close");
  expect(String(first)).toMatch(/^begin;\n/);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});

test("a watch goes on until it is interrupted, and then says nothing more", async () => {
  const { appUrl } = await ownDatabase();
  const child = launch(["stats", "--watch", "--json"], { DATABASE_URL: appUrl });
  const output = { stdout: "", stderr: "" };
  child.stdout?.on("data", (chunk) => {
    output.stdout += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    output.stderr += chunk;
  });
  await eventually("two looks", () => output.stdout.split("\n").length > 2);
  child.kill("SIGINT");
  const [, signal] = await once(child, "close");
  expect(signal).toBe("SIGINT");
  expect(output.stderr).toBe("");
  for (const line of output.stdout.trimEnd().split("\n")) expect(JSON.parse(line)).toMatchObject({ kinds: [] });
});

test("the schema is checked, printed and made; who may not make it is told what to do", async () => {
  const database = await ownDatabase();
  const name = `${nameOf(database)}_empty`;
  await database.query(`create database ${name}`);
  const admin = { DATABASE_URL: database.adminUrl.replace(/[^/]+$/, name) };
  const app = { DATABASE_URL: database.appUrl.replace(/[^/]+$/, name) };
  try {
    expect(await run(["migrate", "--check"], admin)).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/behind: .*0001_tables\.sql/),
    });
    expect(await run(["jobs", "list", "--tenant", "acme"], app)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/; is the schema there\? doorbell migrate --check tells\n$/),
    });
    expect(await run(["migrate"], app)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^doorbell: this login may not migrate: .*--sql/),
    });
    expect(await run(["start", "--role", "web"], { ...app, DOORBELL_OBJECTS: "memory:" })).toMatchObject({
      code: 78,
      stderr: expect.stringMatching(/no schema of Doorbell \(doorbell migrate/),
    });
    expect(await run(["migrate"], admin)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^applied: 0001_tables\.sql/),
    });
    expect(await run(["migrate"], admin)).toMatchObject({ code: 0, stdout: expect.stringMatching(/already/) });
    expect(await run(["migrate"], app)).toMatchObject({ code: 0, stdout: expect.stringMatching(/already/) });
    expect(await run(["migrate", "--check"], app)).toMatchObject({ code: 0 });
    const inIt = new pg.Client(admin.DATABASE_URL);
    await inIt.connect();
    await inIt.query("insert into doorbell.migrations (name, checksum) values ('9999_later.sql', 'x')");
    await inIt.end();
    expect(await run(["migrate"], admin)).toMatchObject({
      code: 78,
      stderr: expect.stringMatching(/^doorbell: the schema is of a newer version: .*9999_later\.sql/),
    });
    expect((await run(["migrate", "--sql"])).stdout).toMatch(
      /^begin;\n[\s\S]*create table doorbell\.jobs[\s\S]*commit;\n$/,
    );
  } finally {
    await database.query(`drop database ${name} with (force)`);
  }
});

test("a command that the login may not run says so, and what tells more", async () => {
  const { producerUrl, webUrl } = await ownDatabase();
  expect(await run(["sweep"], { DATABASE_URL: webUrl })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/doorbell doctor tells/),
  });
  expect(await run(["enqueue", "greet", "--tenant", "acme"], { DATABASE_URL: producerUrl })).toMatchObject({ code: 0 });
  expect(await run(["jobs", "list", "--tenant", "acme"], { DATABASE_URL: producerUrl })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/permission denied .*doorbell doctor tells/),
  });
});

test("the doctor says what it finds, as text and as JSON, and that it found nothing", async () => {
  const { appUrl, webUrl } = await ownDatabase();
  const env = { DOORBELL_OBJECTS: "file:./objects" };
  expect(await run(["doctor"], { ...env, DATABASE_URL: appUrl })).toEqual({
    code: 0,
    stdout: "nothing found: role all may start in production\n",
    stderr: "",
  });
  expect(await run(["doctor", "--json"], { ...env, DATABASE_URL: appUrl })).toMatchObject({ code: 0, stdout: "[]\n" });
  const web = { ...env, DATABASE_URL: webUrl };
  expect(await run(["doctor", "--role", "web"], web)).toMatchObject({ code: 0 });
  expect(await run(["doctor"], web)).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(
      /^refuse {2}login_lacks_rights: login web .*\n {8}mend: grant doorbell_worker to web\n$/,
    ),
  });
});

test("the doctor looks at the application's tables, by the setting that the application or the command names", async () => {
  const database = await ownDatabase();
  await database.query(`
    create schema shop; grant usage on schema shop to app;
    create table shop.orders (customer uuid not null, id int, primary key (customer, id));
    alter table shop.orders enable row level security;
    create policy one_tenant on shop.orders using (customer = current_setting('shop.tenant', true)::uuid);
    grant select, insert, update, delete on shop.orders to app`);
  const folder = scratchFolder();
  writeFileSync(
    `${folder}/app.mjs`,
    "export const app = { jobs: [], handlers: () => [], tenantSetting: 'shop.tenant' };",
  );
  const env = { DATABASE_URL: database.appUrl, DOORBELL_OBJECTS: "file:./objects" };
  const doctor = ["doctor", "--tables", "shop.orders", "--tenant-column", "customer"];
  const named = await run([...doctor, "--setting", "shop.tenant"], env, folder);
  expect(named).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^refuse {2}policy_cast: .*\n {8}mend: alter/),
  });
  expect(await run([...doctor, "--app", "app.mjs"], env, folder)).toEqual(named);
  const [found] = JSON.parse((await run([...doctor, "--app", "app.mjs", "--json"], env, folder)).stdout);
  await database.query(found.mend);
  expect(await run([...doctor, "--app", "app.mjs"], env, folder)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^warn {4}temporary_tables: .*\n {8}mend: revoke temporary .*\n$/),
    stderr: "",
  });
  // Without a name it is Doorbell's own setting, which that policy does not read.
  expect((await run(doctor, env, folder)).stdout).toMatch(/^refuse {2}policy_open: /);
  expect(await run([...doctor, "--setting", "it's"], env, folder)).toMatchObject({ code: 2 });
});
