// Every finding with a planted fault, and none without: on databases and with logins of the test's own.
import { expect, onTestFinished, test } from "vitest";
import { resolveSettings } from "../config/settings.ts";
import { newId } from "../core/ids.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { examine } from "./doctor.ts";
import type { FindingCode } from "./finding.ts";

const production = { DOORBELL_ENV: "production", DOORBELL_OBJECTS: "file:/tmp" };

interface Ward {
  readonly database: TestDatabase;
  /** As a superuser, in the database. */
  readonly sql: (text: string) => Promise<unknown>;
  /** The codes that are found for this login. */
  readonly codes: (login?: string, role?: string) => Promise<readonly FindingCode[]>;
  /** A login that is gone with the test, with these attributes and memberships. */
  readonly login: (attributes?: string, memberOf?: string) => Promise<string>;
}

async function open(): Promise<Ward> {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const sql: Ward["sql"] = (text) => database.query(text);
  const name = new URL(database.adminUrl).pathname.slice(1);
  // The server of the tests is the embedded one, which is a finding of its own.
  await sql(`alter database ${name} set doorbell.embedded = 'off'`);
  return {
    database,
    sql,
    codes: async (login = "app", role = "all") => {
      const url = new URL(database.adminUrl);
      url.username = login;
      const settings = resolveSettings({ ...production, DOORBELL_ROLE: role });
      return (await examine({ settings, databaseUrl: url.href, variables: {} })).map((finding) => finding.code);
    },
    login: async (attributes = "", memberOf = "doorbell_web, doorbell_worker") => {
      const login = `test_${newId().replaceAll("-", "")}`;
      await sql(`create role ${login} login ${attributes} in role ${memberOf}`);
      onTestFinished(async () => {
        await sql(`drop owned by ${login}`);
        await sql(`drop role ${login}`);
      });
      return login;
    },
  };
}

test("the documented logins and a fresh schema: nothing is found", async () => {
  const { codes, login } = await open();
  expect(await codes("app")).toEqual([]);
  expect(await codes("web", "web")).toEqual([]);
  expect(await codes(await login("", "doorbell_worker"), "worker")).toEqual([]);
});

test("the embedded server is found, and so is a superuser, once", async () => {
  const { database, sql, codes } = await open();
  expect(await codes("postgres")).toEqual(["login_superuser"]);
  await sql(`alter database ${new URL(database.adminUrl).pathname.slice(1)} reset doorbell.embedded`);
  expect(await codes()).toEqual(["embedded_server"]);
});

test("a login that row-level security does not bind, or that can make it so, is found", async () => {
  const { codes, login } = await open();
  expect(await codes(await login("bypassrls"))).toEqual(["login_bypasses_rls"]);
  const powerful = await login("bypassrls", "doorbell_reader");
  expect(await codes(await login("", `doorbell_web, doorbell_worker, ${powerful}`))).toEqual(["login_may_become"]);
  expect(await codes(await login("noinherit", "doorbell_web, doorbell_worker, doorbell_owner"))).toContain(
    "login_owns_tables",
  );
});

test("an owner of ours that row-level security does not bind is found, of a table or of a function", async () => {
  const { sql, codes, login } = await open();
  const owner = await login("bypassrls", "doorbell_reader");
  await sql(`grant usage, create on schema doorbell to ${owner}`);
  await sql(`create table doorbell.notes (note text); alter table doorbell.notes owner to ${owner}`);
  expect(await codes()).toEqual(["owner_unbound"]);
  await sql("drop table doorbell.notes");
  expect(await codes()).toEqual([]);
  await sql(`alter function doorbell.canary owner to ${owner}`);
  expect(await codes()).toContain("owner_unbound");
});

test("a login without its role's rights is found, with the grant that it lacks", async () => {
  const { database, codes, login } = await open();
  expect(await codes("web", "worker")).toEqual(["login_lacks_rights"]);
  expect(await codes("producer", "web")).toEqual(["login_lacks_rights"]);
  expect(await codes(await login("", "doorbell_reader"))).toEqual(["login_lacks_rights", "login_lacks_rights"]);
  const settings = resolveSettings({ ...production, DOORBELL_ROLE: "all" });
  const findings = await examine({ settings, databaseUrl: database.webUrl, variables: {} });
  expect(findings.map((finding) => finding.mend)).toEqual(["grant doorbell_worker to web"]);
});

test.each<[string, string, FindingCode]>([
  ["is not forced", "alter table doorbell.jobs no force row level security", "table_unforced"],
  ["is off", "alter table doorbell.effects disable row level security", "table_unforced"],
  [
    "is not forced on a partition",
    "alter table doorbell.job_history_rest no force row level security",
    "table_unforced",
  ],
  ["lacks a policy", "drop policy for_functions on doorbell.attempts", "table_policies"],
  ["has one policy more", "create policy all_of_it on doorbell.jobs using (true)", "table_policies"],
  [
    "has a policy with an exception",
    "alter policy one_tenant on doorbell.jobs using (tenant_id = current_setting('doorbell.tenant_id', true) or kind = 'x')",
    "table_policies",
  ],
  ["has a policy that lets everything pass", "alter policy one_tenant on doorbell.jobs using (true)", "table_policies"],
  ["is missing on a table of somebody else's", "create table doorbell.more (tenant_id text)", "table_unforced"],
])("row-level security that %s is found", async (_, fault, code) => {
  const { sql, codes } = await open();
  await sql(fault);
  expect(await codes()).toContain(code);
});

test("a schema of another version is found, whichever is older, and so is none", async () => {
  const { sql, codes } = await open();
  await sql("update doorbell.migrations set checksum = 'x' where name = 'functions'");
  expect(await codes()).toEqual(["schema_behind"]);
  await sql("insert into doorbell.migrations (name, checksum) values ('9999_later.sql', 'x')");
  expect(await codes()).toEqual(["schema_ahead"]);
  await sql("drop schema doorbell cascade");
  expect(await codes()).toEqual(["schema_missing"]);
});

test("a tenant that is in force on a new connection is found", async () => {
  const { database, sql, codes } = await open();
  await sql(`alter database ${new URL(database.adminUrl).pathname.slice(1)} set doorbell.tenant_id = 'acme'`);
  expect(await codes()).toContain("clamp_stays");
});

test("a claim that passes over the jobs of several tenants is found", async () => {
  const { sql, codes } = await open();
  await sql(
    `create or replace function doorbell.claim(worker text, tenants text[], ids uuid[], kinds text[], lease_ms bigint default 30000)
     returns setof doorbell.tick_row language sql as 'select null::doorbell.tick_row where false'`,
  );
  expect(await codes()).toEqual(["claims_nothing"]);
});

test("a check that cannot be made is found: not knowing is not being well", async () => {
  const { sql, codes } = await open();
  await sql(
    "create or replace function doorbell.canary() returns boolean language plpgsql as $$ begin raise exception 'no' using errcode = 'XX000'; end $$",
  );
  expect(await codes()).toEqual(["check_failed"]);
});

test("objects that die with the process are found", async () => {
  const { database } = await open();
  const settings = resolveSettings({ DOORBELL_ENV: "production" });
  const findings = await examine({ settings, databaseUrl: database.appUrl, variables: {} });
  expect(findings.map(({ code }) => code)).toEqual(["objects_not_durable"]);
});

test("what the settings show is found without a database, and warnings refuse nothing", async () => {
  const variables = {
    DOORBELL_ENV: "production",
    DOORBELL_QUEUE: "memory:",
    DOORBELL_OBJECTS: "file:/dev/null/objects",
    DOORBELL_WEBHOOK_ALLOW_PRIVATE: "1",
    DOORBELL_CONCURENCY: "5",
  };
  const findings = await examine({ settings: resolveSettings(variables), databaseUrl: null, variables });
  expect(findings.map(({ code, severity, subject }) => `${severity} ${code}: ${subject}`)).toEqual([
    "refuse database_missing: DATABASE_URL",
    "refuse webhooks_private: DOORBELL_WEBHOOK_ALLOW_PRIVATE",
    "warn setting_unknown: DOORBELL_CONCURENCY",
    "refuse queue_in_process: DOORBELL_QUEUE",
    "refuse objects_unusable: DOORBELL_OBJECTS",
  ]);
});

test("a database that cannot be reached, or knows no such login, is found", async () => {
  const { codes } = await open();
  expect(await codes("nobody")).toEqual(["database_unreachable"]);
  const settings = resolveSettings(production);
  const databaseUrl = "postgres://app:hunter2@127.0.0.1:1/app";
  const findings = await examine({ settings, databaseUrl, variables: {} });
  expect(findings).toMatchObject([{ code: "database_unreachable", message: expect.stringContaining("ECONNREFUSED") }]);
  expect(JSON.stringify(findings)).not.toContain("hunter2");
});
