// A user's tables, with text and with uuid tenants: sound ones have no finding; each fault is planted and found, and its
// mend, run as it is printed, clears it.
import { expect, test } from "vitest";
import { openWard, type Ward } from "../../test/ward.ts";
import type { FindingCode } from "./finding.ts";

const setting = "app.tenant_id";

/** Two sound tables with rows of a tenant's, owned by a superuser. */
const sound = `
  create schema app;
  grant usage on schema app to app;
  create table app.documents (tenant_id text not null, id uuid, title text, primary key (tenant_id, id));
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
    "alter table app.documents owner to app; alter table app.documents no force row level security; grant create on schema app to app",
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
    "create function app.count() returns bigint language sql security definer as 'select count(*) from app.documents'",
    "definer_unpinned",
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
  const { sql, findings, codes } = await openSound();
  await sql(hollow);
  expect(await findings()).toMatchObject([{ code: "table_leaks", subject: "app.documents" }]);
  await sql("delete from app.documents");
  expect(await codes()).toEqual([]);
});

test("a policy that reads well and fails where there is no tenant is found by its error", async () => {
  const { sql, findings } = await openSound(["app.invoices"]);
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
    create table app.events (tenant_id text not null, at date) partition by range (at);
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

test("a login that row-level security does not bind is told once, and not of every table", async () => {
  const { codes } = await openSound();
  expect(await codes("postgres")).toEqual(["login_superuser"]);
});
