// A user's tables, with text and with uuid tenants: sound ones have no finding; each fault is planted and found, and its
// mend, run as it is printed, clears it.
import { expect, test } from "vitest";
import { signing } from "../../test/tenancy/signing.ts";
import { openWard, type Ward } from "../../test/ward.ts";
import type { FindingCode } from "./finding.ts";

const setting = "app.tenant_id";

/** Two sound tables with rows of a tenant's, owned by a superuser. */
const sound = `
  create schema app;
  grant usage on schema app to app;
  create table app.documents (tenant_id text not null check (tenant_id <> ''), id uuid, title text, primary key (tenant_id, id));
  create table app.invoices (tenant_id uuid not null, id uuid, document_id uuid, primary key (tenant_id, id));
  alter table app.documents enable row level security, force row level security;
  alter table app.invoices enable row level security, force row level security;
  create policy one_tenant on app.documents using (tenant_id = current_setting('${setting}', true));
  create policy one_tenant on app.invoices
    using (tenant_id = nullif(current_setting('${setting}', true), '')::uuid);
  grant select, insert, update, delete on app.documents, app.invoices to app;
  insert into app.documents values ('acme', gen_random_uuid(), 'a');
  insert into app.invoices values (gen_random_uuid(), gen_random_uuid())`;

async function openSound(names: readonly string[] = ["app.documents", "app.invoices"]): Promise<Ward> {
  const ward = await openWard({ names, tenantColumn: "tenant_id", tenantSetting: setting });
  await ward.sql(sound);
  return ward;
}

test("sound tables, with text and with uuid tenants: nothing is found", async () => {
  const { codes } = await openSound();
  expect(await codes()).toEqual([]);
});

test("a table by its bare name is looked up in search_path", async () => {
  const { codes } = await openSound(["documents"]);
  expect(await codes("app")).toEqual([]); // Its search_path has "$user".
  expect(await codes("web", "web")).toEqual(["table_missing"]);
});

test("a table that is not there, or no name at all, is found", async () => {
  const { findings } = await openSound(["app.documents", "app.letters", "app..x"]);
  expect(await findings()).toMatchObject([
    { code: "table_missing", subject: "app.letters" },
    { code: "check_failed", subject: "table app..x" },
  ]);
});

test("a table without the tenant's column is found, and one whose tenant is a number", async () => {
  const { sql, codes, mend } = await openSound(["app.plain"]);
  await sql("create table app.plain (tenant_no int); alter table app.plain enable row level security");
  expect(await codes()).toEqual(["tenant_column_missing"]);
  await sql("alter table app.plain rename tenant_no to tenant_id; alter table app.plain alter tenant_id set not null");
  expect(await codes()).toEqual(["tenant_column_type"]);
  expect(await mend("tenant_column_type")).toEqual([]);
});

test("a tenant that is a number, with policies that compare it: found, and mended", async () => {
  const { sql, codes, mend } = await openSound(["app.counted"]);
  await sql(`
    create table app.counted (tenant_id int not null, n int);
    alter table app.counted enable row level security;
    create policy one_tenant on app.counted using (tenant_id = nullif(current_setting('${setting}', true), '')::int);
    grant select on app.counted to app`);
  expect(await codes()).toEqual(["tenant_column_type"]);
  expect(await mend("tenant_column_type")).toEqual(["tenant_column_empty"]);
  expect(await mend("tenant_column_empty")).toEqual([]);
});

const policy = "alter policy one_tenant on app.documents using";
const uuidPolicy = "alter policy one_tenant on app.invoices using";

/** One tenant's, whoever asks: true of any text that mentions the setting. */
const hollow = `
  create function app.mine(tenant text) returns boolean language sql stable
    as $$ select coalesce(nullif(current_setting('${setting}', true), ''), tenant) = tenant $$;
  ${policy} (app.mine(tenant_id))`;

test.each<[string, string, FindingCode, ...FindingCode[]]>([
  ["row-level security that is off", "alter table app.documents disable row level security", "table_unforced"],
  [
    "row-level security that is not forced on the login, which owns the table",
    "alter table app.documents owner to app; alter table app.documents no force row level security",
    "table_unforced",
  ],
  ["no policy", "drop policy one_tenant on app.invoices", "policy_missing"],
  [
    "no policy for some commands",
    `drop policy one_tenant on app.documents;
     create policy readers on app.documents for select using (tenant_id = current_setting('${setting}', true))`,
    "policy_missing",
  ],
  ["a policy for others only", "alter policy one_tenant on app.documents to doorbell_reader", "policy_missing"],
  ["a policy that lets everything pass", `${policy} (true)`, "policy_open"],
  [
    "a policy that lets everything be written",
    `${policy} (tenant_id = current_setting('${setting}', true)) with check (true)`,
    "policy_open",
  ],
  [
    "a second policy that lets other rows pass",
    "create policy shared on app.invoices for select using (document_id is null)",
    "policy_open",
  ],
  [
    "a second policy that lets anything be inserted",
    "create policy anyone on app.documents for insert with check (title <> '')",
    "policy_open",
  ],
  ["a policy that reads another setting", `${policy} (tenant_id = current_setting('app.tenant', true))`, "policy_open"],
  [
    "a uuid cast of the setting as it is",
    `${uuidPolicy} (tenant_id = current_setting('${setting}', true)::uuid)`,
    "policy_cast",
  ],
  [
    "such a cast of a subselect, beside another condition",
    `${uuidPolicy} (tenant_id = (select current_setting('${setting}', true))::uuid and id is not null)
       with check (tenant_id = (select current_setting('${setting}')::uuid))`,
    "policy_cast",
  ],
  ["a setting that has to be there", `${policy} (tenant_id = current_setting('${setting}'))`, "policy_strict"],
  [
    "a tenant that may be null",
    "alter table app.documents drop constraint documents_pkey; alter table app.documents alter tenant_id drop not null",
    "tenant_column_nullable",
  ],
  [
    "a primary key over all tenants",
    "alter table app.documents drop constraint documents_pkey, add primary key (id)",
    "unique_without_tenant",
  ],
  [
    "a unique index over all tenants",
    "create unique index on app.documents (lower(title)) where title <> ''",
    "unique_without_tenant",
  ],
  [
    "a reference to any tenant's row",
    `create table app.lines (tenant_id text not null, id uuid primary key);
     alter table app.documents add line_id uuid references app.lines on delete set null`,
    "reference_without_tenant",
  ],
  [
    "a view that shows every tenant's rows",
    "create view app.titles as select title from app.documents; grant select on app.titles to app",
    "view_as_owner",
  ],
  [
    "a function of the owner's that looks names up where its caller says",
    `alter table app.documents owner to doorbell_reader;
     create function app.count() returns bigint language sql security definer as 'select count(*) from app.documents';
     alter function app.count() owner to doorbell_reader`,
    "definer_unpinned",
  ],
  [
    "an exclusion over all tenants",
    "alter table app.documents add during int4range, add exclude using gist (during with &&)",
    "unique_without_tenant",
  ],
  [
    "a view that shows every tenant's rows to another, which the login may read",
    `create view app.all_of_it as select * from app.documents;
     create view app.titles with (security_invoker) as select title from app.all_of_it;
     create view app.shown as select * from app.titles;
     grant select on app.all_of_it to doorbell_reader; grant select on app.shown to app;
     alter view app.titles reset (security_invoker)`,
    "view_as_owner",
  ],
  [
    "a materialized view of it",
    `create materialized view app.kept as select * from app.documents;
     create view app.shown as select * from app.kept; grant select on app.shown to public`,
    "rows_unguarded",
  ],
  ["a right to empty it", "grant truncate, trigger on app.documents to doorbell_web", "table_grants"],
  ["a right of everybody's", "grant select on app.documents to public", "table_grants"],
  ["a table that a crash empties", "alter table app.documents set unlogged", "table_unlogged"],
  ["a publication of it", "create publication news for table app.documents", "table_published"],
  ["a publication of its schema", "create publication news for tables in schema app", "table_published"],
  [
    "a sequence that tells of every tenant's rows",
    "alter table app.documents add n serial; grant select, usage on all sequences in schema app to app",
    "sequence_grants",
  ],
  [
    "an enum, whose comparison no index serves",
    `create type app.mood as enum ('new', 'it''s old');
     alter table app.documents add mood app.mood not null default 'it''s old'`,
    "enum_column",
  ],
  [
    "an enum without a default",
    "create type app.mood as enum ('new'); alter table app.invoices add mood app.mood",
    "enum_column",
  ],
  [
    "a tenant that may be empty",
    "alter table app.documents drop constraint documents_tenant_id_check",
    "tenant_column_empty",
  ],
  [
    "a policy that asks a function marked immutable",
    `create function app.tenant() returns text language sql immutable as $$ select current_setting('${setting}', true) $$;
     ${policy} (tenant_id = app.tenant())`,
    "policy_frozen",
  ],
  [
    "temporary tables",
    "do $$ begin execute format('grant temporary on database %I to app', current_database()); end $$",
    "temporary_tables",
  ],
])("%s: found, and mended", async (_, fault, code) => {
  const { sql, codes, mend } = await openSound();
  await sql(fault);
  expect(await codes()).toEqual([code]);
  expect(await mend(code)).toEqual([]);
});

test("the mend of a uuid cast is the nullif form, and leaves the rest of the condition as it was", async () => {
  const { sql, findings } = await openSound();
  await sql(`${uuidPolicy} (id is not null and tenant_id = current_setting('${setting}', true)::uuid)`);
  expect((await findings()).map(({ mend }) => mend)).toEqual([
    `alter policy one_tenant on app.invoices using ((id IS NOT NULL) AND (tenant_id = nullif(current_setting('${setting}', true), '')::uuid))`,
  ]);
});

test("a policy that lets everything pass is sound where a restrictive one binds it", async () => {
  const { sql, codes } = await openSound();
  await sql("create policy everything on app.documents using (true)");
  expect(await codes()).toEqual(["policy_open"]);
  await sql(
    `create policy bound on app.documents as restrictive using (tenant_id = current_setting('${setting}', true))`,
  );
  expect(await codes()).toEqual([]);
});

test("a policy that reads well and lets everything pass is found by its rows", async () => {
  const { sql, findings, codes, mend } = await openSound();
  await sql(hollow);
  expect(await findings()).toMatchObject([{ code: "table_leaks", subject: "app.documents" }]);
  expect(await mend("table_leaks")).toEqual([]);
  // Of a table without rows nothing can be seen.
  await sql("drop policy tenant_bound on app.documents");
  expect(await codes()).toEqual(["table_leaks"]);
  await sql("delete from app.documents");
  expect(await codes()).toEqual([]);
});

test("a policy that reads well and fails where there is no tenant is found by its error", async () => {
  const { sql, findings, mend } = await openSound(["app.invoices"]);
  await sql(`
    create function app.tenant() returns uuid language plpgsql stable
      as $$ begin return current_setting('${setting}', true)::uuid; end $$;
    ${uuidPolicy} (tenant_id = app.tenant())`);
  expect(await findings()).toMatchObject([
    {
      code: "table_raises",
      subject: "app.invoices",
      message: expect.stringMatching(/fails.*invalid input syntax for type uuid/),
    },
  ]);
  expect(await mend("table_raises")).toEqual([]);
});

test("a tenant that is in force on a new connection by the application's own setting: found, and mended", async () => {
  const { database, sql, codes, mend } = await openSound(["app.invoices"]);
  const nobody = "00000000-0000-4000-8000-000000000000";
  await sql(`alter database ${new URL(database.adminUrl).pathname.slice(1)} set ${setting} = '${nobody}'`);
  expect(await codes()).toEqual(["clamp_stays"]);
  expect(await mend("clamp_stays")).toEqual([]);
});

test("a partition that the login may reach by its own name is examined as a table of its own", async () => {
  const { sql, findings, codes, mend } = await openSound(["app.events"]);
  await sql(`
    create table app.events (tenant_id text not null check (tenant_id <> ''), at date) partition by range (at);
    create table app.events_rest partition of app.events default;
    alter table app.events enable row level security;
    create policy one_tenant on app.events using (tenant_id = current_setting('${setting}', true));
    grant select on app.events to app`);
  expect(await codes()).toEqual([]);
  await sql("grant select on app.events_rest to app");
  expect(await findings()).toMatchObject([
    { code: "table_unforced", subject: "app.events_rest" },
    { code: "policy_missing", subject: "app.events_rest" },
  ]);
  expect(await mend("table_unforced")).toEqual(["policy_missing"]);
  expect(await mend("policy_missing")).toEqual([]);
});

test("a partition that is a foreign table, and that the login may read, is found, and mended", async () => {
  const { sql, codes, mend } = await openSound(["app.events"]);
  await sql(`
    create table app.events (tenant_id text not null check (tenant_id <> ''), at date) partition by range (at);
    create foreign data wrapper none;
    create server elsewhere foreign data wrapper none;
    create foreign table app.events_old partition of app.events for values from ('2000-01-01') to ('2001-01-01') server elsewhere;
    alter table app.events enable row level security;
    create policy one_tenant on app.events using (tenant_id = current_setting('${setting}', true));
    grant insert on app.events to app`);
  expect(await codes()).toEqual([]);
  await sql("grant select on app.events_old to app");
  expect(await codes()).toEqual(["rows_unguarded"]);
  expect(await mend("rows_unguarded")).toEqual([]);
});

test("a right to empty a table is refused, and one that does less is warned of", async () => {
  const { sql, findings } = await openSound();
  await sql("grant truncate on app.documents to app; grant references on app.invoices to app");
  expect(await findings()).toMatchObject([
    { severity: "refuse", subject: "app.documents" },
    { severity: "warn", subject: "app.invoices" },
  ]);
});

test("a login that row-level security does not bind is told once, and not of every table", async () => {
  const { codes } = await openSound();
  expect(await codes("postgres")).toEqual(["login_superuser"]);
});

test("where tenancy is signed, a policy that believes a bare setting is found, and one that asks doorbell.tenant() is not", async () => {
  const { sql, codes, mend } = await openSound();
  await signing().acceptBy(sql);
  // Beside what the process itself lacks: it does not sign.
  expect(await codes()).toEqual(["tenancy_unproven", "policy_movable", "policy_movable"]);
  expect(await mend("policy_movable")).toEqual(["tenancy_unproven"]);
  await sql("drop policy one_tenant on app.invoices");
  expect(await mend("policy_missing")).toEqual(["tenancy_unproven"]);
  await sql(`${policy} (tenant_id = current_setting('${setting}', true))`);
  await sql("create policy proven on app.documents as restrictive using (tenant_id = doorbell.tenant())");
  expect(await codes()).toEqual(["tenancy_unproven"]);
});

test("policies may ask doorbell.tenant() in plain tenancy as well, for text and for uuid", async () => {
  const { sql, codes } = await openSound();
  await sql(`${policy} (tenant_id = doorbell.tenant()); ${uuidPolicy} (tenant_id = doorbell.tenant()::uuid)`);
  expect(await codes()).toEqual([]);
});
