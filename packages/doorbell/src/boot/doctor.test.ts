// Every finding with a planted fault, and none without: on databases and with logins of the test's own.
import { expect, onTestFinished, test, vi } from "vitest";
import { openWard, production } from "../../test/ward.ts";
import { resolveSettings } from "../config/settings.ts";
import { Database } from "../store/database.ts";
import { checkOurRows } from "./check-schema.ts";
import { examine } from "./doctor.ts";
import type { FindingCode } from "./finding.ts";

test("the documented logins and a fresh schema: nothing is found", async () => {
  const { codes, login } = await openWard();
  expect(await codes("app")).toEqual([]);
  expect(await codes("web", "web")).toEqual([]);
  expect(await codes(await login("", "doorbell_worker"), "worker")).toEqual([]);
});

test("the embedded server is found, and so is a superuser, once", async () => {
  const { database, sql, codes } = await openWard();
  expect(await codes("postgres")).toEqual(["login_superuser"]);
  await sql(`alter database ${new URL(database.adminUrl).pathname.slice(1)} reset doorbell.embedded`);
  expect(await codes()).toEqual(["embedded_server"]);
});

test("a login that row-level security does not bind, or that can make it so, is found, and mended", async () => {
  const { codes, login, mend } = await openWard();
  const unbound = await login("bypassrls");
  expect(await codes(unbound)).toEqual(["login_bypasses_rls"]);
  expect(await mend("login_bypasses_rls", unbound)).toEqual([]);
  const powerful = await login("bypassrls", "doorbell_reader");
  const friend = await login("", `doorbell_web, doorbell_worker, ${powerful}`);
  expect(await codes(friend)).toEqual(["login_may_become"]);
  expect(await mend("login_may_become", friend)).toEqual([]);
  const reader = await login("", "doorbell_web, doorbell_worker, pg_read_server_files");
  expect(await codes(reader)).toEqual(["login_may_become"]);
  expect(await mend("login_may_become", reader)).toEqual([]);
  const owner = await login("noinherit", "doorbell_web, doorbell_worker, doorbell_owner");
  expect(await codes(owner)).toContain("login_owns_tables");
  await mend("login_owns_tables", owner);
});

test("a login that owns a table of ours is found, and mended by handing it over", async () => {
  const { sql, codes, login, mend } = await openWard();
  const owner = await login();
  await sql(`create table doorbell.notes (note text); alter table doorbell.notes owner to ${owner}`);
  expect(await codes(owner)).toEqual(["login_owns_tables"]);
  expect(await mend("login_owns_tables", owner)).toEqual([]);
});

test("a login that may more than it needs is found, refused where it could read the log of all tenants, and mended", async () => {
  const { findings, login, mend } = await openWard();
  for (const [attributes, severity] of [
    ["replication", "refuse"],
    ["createdb", "warn"],
  ] as const) {
    const powerful = await login(attributes);
    expect(await findings(powerful)).toMatchObject([{ code: "login_attributes", severity, subject: powerful }]);
    expect(await mend("login_attributes", powerful)).toEqual([]);
  }
});

test("an owner of ours that row-level security does not bind is found, of a table or of a function, and mended", async () => {
  const { sql, codes, login, mend } = await openWard();
  const owner = await login("bypassrls", "doorbell_reader");
  await sql(`grant usage, create on schema doorbell to ${owner}`);
  await sql(`create table doorbell.notes (note text); alter table doorbell.notes owner to ${owner}`);
  expect(await codes()).toEqual(["owner_unbound"]);
  expect(await mend("owner_unbound")).toEqual([]);
  await sql(`alter function doorbell.canary owner to ${owner}`);
  expect(await codes()).toContain("owner_unbound");
  expect(await mend("owner_unbound")).toEqual([]);
});

test("a login without its role's rights is found, with the grant that it lacks", async () => {
  const { codes, login, mend } = await openWard();
  expect(await codes("web", "worker")).toEqual(["login_lacks_rights"]);
  expect(await codes("producer", "web")).toEqual(["login_lacks_rights"]);
  expect(await codes(await login("", "doorbell_reader"))).toEqual(["login_lacks_rights", "login_lacks_rights"]);
  const lesser = await login("", "doorbell_web");
  expect(await codes(lesser)).toEqual(["login_lacks_rights"]);
  expect(await mend("login_lacks_rights", lesser)).toEqual([]);
});

test.each<[string, string, FindingCode]>([
  ["is not forced", "alter table doorbell.jobs no force row level security", "table_unforced"],
  ["is off", "alter table doorbell.effects disable row level security", "table_unforced"],
  [
    "is not forced on a partition",
    "alter table doorbell.job_history_rest no force row level security",
    "table_unforced",
  ],
  ["lacks a policy", "drop policy our_functions on doorbell.attempts", "table_policies"],
  ["has one policy more", "create policy all_of_it on doorbell.jobs using (true)", "table_policies"],
  [
    "has a policy with an exception",
    "alter policy one_tenant on doorbell.jobs using (tenant_id = current_setting('doorbell.tenant_id', true) or kind = 'x')",
    "table_policies",
  ],
  ["has a policy that lets everything pass", "alter policy one_tenant on doorbell.jobs using (true)", "table_policies"],
  [
    "is missing on a table of somebody else's",
    "create table doorbell.more (tenant_id text not null check (tenant_id <> '')); alter table doorbell.more owner to doorbell_owner",
    "table_unforced",
  ],
  [
    "of the line has an exception",
    "alter policy our_functions on doorbell.unhandled using (tenant_id = 'x')",
    "table_policies",
  ],
])("row-level security that %s is found, and mended", async (_, fault, code) => {
  const { sql, codes, mend } = await openWard();
  await sql(fault);
  expect(await codes()).toContain(code);
  // A table that lacks both has its policies as the next finding.
  const left = await mend(code);
  if (left.length > 0) expect(await mend("table_policies")).toEqual([]);
});

test.each<[string, string, FindingCode]>([
  [
    "a key of ours over all tenants",
    "alter table doorbell.jobs drop constraint jobs_pkey, add primary key (id)",
    "unique_without_tenant",
  ],
  ["an index of ours over all tenants", "create unique index on doorbell.effects (key)", "unique_without_tenant"],
  [
    "an exclusion over all tenants",
    "alter table doorbell.job_logs add exclude (message with =)",
    "unique_without_tenant",
  ],
  [
    "a view that shows every tenant's jobs",
    "create view public.peek as select id from doorbell.jobs; grant select (id) on public.peek to doorbell_web",
    "view_as_owner",
  ],
  [
    "a materialized view of a view of ours",
    "create materialized view public.kept as select * from doorbell.all_jobs; grant select on public.kept to app",
    "rows_unguarded",
  ],
  ["a table of ours that a crash empties", "alter table doorbell.effects set unlogged", "table_unlogged"],
  ["a publication of everything", "create publication everything for all tables", "table_published"],
  [
    "a tenant_id of ours that may be null",
    "alter table doorbell.job_keys drop constraint job_keys_pkey; alter table doorbell.job_keys alter tenant_id drop not null",
    "tenant_column_nullable",
  ],
  [
    "a tenant_id of ours that may be empty",
    "alter table doorbell.jobs drop constraint jobs_tenant_id_check",
    "tenant_column_empty",
  ],
  [
    "a table in our schema without tenants, which the login may read",
    `create table doorbell.copy as select 'a' as payload; alter table doorbell.copy owner to doorbell_owner;
     grant select on doorbell.copy to doorbell_web`,
    "table_readable",
  ],
  [
    "a foreign table in our schema",
    `create foreign data wrapper none; create server elsewhere foreign data wrapper none;
     create foreign table doorbell.elsewhere (tenant_id text, payload text) server elsewhere;
     alter foreign table doorbell.elsewhere owner to doorbell_owner; grant select on doorbell.elsewhere to app`,
    "table_readable",
  ],
  [
    "a function of a superuser's",
    "create function public.all_of_it() returns bigint language sql security definer as 'select count(*) from doorbell.jobs'",
    "definer_unbound",
  ],
  [
    "a function that Postgres calls before it asks the policies",
    "create function public.peek(text) returns boolean language plpgsql leakproof cost 0.1 as 'begin return true; end'",
    "function_leakproof",
  ],
  [
    "a schema in which others may put things before ours are found",
    "grant create on schema public to doorbell_web",
    "search_path_open",
  ],
])("%s: found, and mended", async (_, fault, code) => {
  const { sql, codes, mend } = await openWard();
  await sql(fault);
  expect(await codes()).toEqual([code]);
  expect(await mend(code)).toEqual([]);
});

test("a reference between tables of ours that leaves the tenant out is found, and mended", async () => {
  const { sql, codes, mend } = await openWard();
  await sql(`create unique index jobs_id on doorbell.jobs (id);
             alter table doorbell.attempts add foreign key (job_id) references doorbell.jobs (id) on delete cascade`);
  expect(await codes()).toEqual(["unique_without_tenant", "reference_without_tenant"]);
  expect(await mend("reference_without_tenant")).toEqual(["unique_without_tenant"]);
  expect(await mend("unique_without_tenant")).toEqual([]);
});

test.each<[string, string, string, FindingCode]>([
  ["database", "synchronous_commit", "off", "durability_off"],
  ["database", "session_replication_role", "replica", "session_setting"],
  ["role", "synchronous_commit", "off", "durability_off"],
  ["role", "row_security", "off", "session_setting"],
  ["role", "role", "doorbell_web", "session_setting"],
])("a %s on which %s is set to %s is found, and mended", async (where, setting, value, code) => {
  const { database, sql, codes, login, mend } = await openWard();
  const worker = await login();
  const name = where === "role" ? worker : new URL(database.adminUrl).pathname.slice(1);
  await sql(`alter ${where} ${name} set ${setting} = ${value}`);
  expect(await codes(worker)).toContain(code);
  expect(await mend(code, worker)).toEqual([]);
});

test("nobody who sweeps is found by a login that may not, where there was somebody", async () => {
  const { sql, codes } = await openWard();
  await sql(`insert into doorbell.workers (id, role, host, pid, version, kinds, lanes, slots, seen_at)
             values ('gone', 'worker', 'h', 1, '0', '{}', '{}', 1, now() - interval '1 min')`);
  expect(await codes("web", "web")).toEqual(["sweeper_missing"]);
  expect(await codes("app")).toEqual([]);
  await sql("update doorbell.workers set seen_at = now()");
  expect(await codes("web", "web")).toEqual([]);
});

test("endpoints of webhooks whose secrets this process has no key to open are found, by those that send", async () => {
  const { database, sql, findings, codes } = await openWard();
  await sql("select doorbell.add_webhook('acme', gen_random_uuid(), 'https://h.example/', '{*}', '\\x00')");
  expect(await findings()).toMatchObject([
    { code: "secret_keys_missing", severity: "refuse", subject: "DOORBELL_SECRET_KEYS" },
  ]);
  expect(await codes("web", "web")).toEqual([]);
  const settings = resolveSettings({ ...production, DOORBELL_SECRET_KEYS: "k".repeat(32) });
  expect(await examine({ settings, databaseUrl: database.appUrl, variables: {} })).toEqual([]);
});

test("a clock that is far from the server's is found", async () => {
  const { findings } = await openWard();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 20_000 });
  expect(await findings()).toMatchObject([
    { code: "clock_apart", severity: "warn", message: expect.stringMatching(/clock is (19|20) s behind/) },
  ]);
});

test("our own tables are looked at as well, as the login: what they show without a tenant is found", async () => {
  const { database, sql } = await openWard();
  await sql("select doorbell.enqueue('acme', 'greet', '{}')");
  const app = new Database({ url: database.appUrl, max: 1, name: "test" });
  onTestFinished(() => app.close());
  expect(await checkOurRows(app, [])).toEqual([]);
  await sql("alter policy one_tenant on doorbell.jobs using (true)");
  expect(await checkOurRows(app, [])).toMatchObject([{ code: "table_leaks", subject: "doorbell.jobs" }]);
});

test("a schema of another version is found, whichever is older, and so is none", async () => {
  const { sql, codes } = await openWard();
  await sql("update doorbell.migrations set checksum = 'x' where name = 'functions'");
  expect(await codes()).toEqual(["schema_behind"]);
  await sql("insert into doorbell.migrations (name, checksum) values ('9999_later.sql', 'x')");
  expect(await codes()).toEqual(["schema_ahead"]);
  await sql("drop schema doorbell cascade");
  expect(await codes()).toEqual(["schema_missing"]);
});

test("a tenant that is in force on a new connection is found, and mended", async () => {
  const { database, sql, codes, login, mend } = await openWard();
  await sql(`alter database ${new URL(database.adminUrl).pathname.slice(1)} set doorbell.tenant_id = 'acme'`);
  const worker = await login();
  await sql(`alter role ${worker} set doorbell.tenant_id = 'acme'`);
  expect(await codes(worker)).toContain("clamp_stays");
  expect(await mend("clamp_stays", worker)).toEqual([]);
});

test("a claim that passes over the jobs of several tenants is found", async () => {
  const { sql, codes } = await openWard();
  await sql(
    `create or replace function doorbell.claim(worker text, tenants text[], ids uuid[], kinds text[], lease_ms bigint default 30000)
     returns setof doorbell.tick_row language sql as 'select null::doorbell.tick_row where false'`,
  );
  expect(await codes()).toEqual(["claims_nothing"]);
});

test("a check that cannot be made is found: not knowing is not being well", async () => {
  const { sql, codes } = await openWard();
  await sql(
    "create or replace function doorbell.canary() returns boolean language plpgsql as $$ begin raise exception 'no' using errcode = 'XX000'; end $$",
  );
  expect(await codes()).toEqual(["check_failed"]);
});

test("objects that die with the process are found", async () => {
  const { database } = await openWard();
  const settings = resolveSettings({ DOORBELL_ENV: "production", DOORBELL_POOLER: "none" });
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
  const { codes } = await openWard();
  expect(await codes("nobody")).toEqual(["database_unreachable"]);
  const settings = resolveSettings(production);
  const databaseUrl = "postgres://app:hunter2@127.0.0.1:1/app";
  const findings = await examine({ settings, databaseUrl, variables: {} });
  expect(findings).toMatchObject([{ code: "database_unreachable", message: expect.stringContaining("ECONNREFUSED") }]);
  expect(JSON.stringify(findings)).not.toContain("hunter2");
});
