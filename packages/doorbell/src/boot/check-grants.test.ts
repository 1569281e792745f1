// What opens schema doorbell wider than the migration does: each fault is planted and found, and its mend, run as it is
// printed, clears it.
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { openWard } from "../../test/ward.ts";
import { checkMemberships } from "./check-grants.ts";
import type { FindingCode } from "./finding.ts";

test.each<[string, string, FindingCode]>([
  [
    "a function that looks names up where its caller says",
    "alter function doorbell.sweep reset search_path",
    "definer_unpinned",
  ],
  [
    "a function that looks names up in a schema that others may write",
    "alter function doorbell.cancel set search_path = public, pg_temp",
    "definer_unpinned",
  ],
  ["a function that everybody may call", "grant execute on function doorbell.stats to public", "function_public"],
  ["a table that a login may write", "grant insert, truncate on doorbell.jobs to app", "table_grants"],
  ["a column that a login may write", "grant update (state) on doorbell.jobs to doorbell_web", "table_grants"],
  [
    "a clock of the line that a login may read",
    "do $$ begin execute format('grant select on sequence %s to app', (select clock from doorbell.lanes limit 1)); end $$",
    "table_grants",
  ],
  ["a view that everybody may read", "grant select on doorbell.all_jobs to public", "table_grants"],
  [
    "tables that will be open when they are made",
    "alter default privileges in schema doorbell grant insert on tables to app",
    "default_privileges",
  ],
  [
    "functions of the owner that will be everybody's",
    "alter default privileges for role doorbell_owner grant execute on functions to doorbell_web",
    "default_privileges",
  ],
])("%s: found, and mended", async (_, fault, code) => {
  const { sql, codes, mend } = await openWard();
  await sql(fault);
  expect(await codes()).toEqual([code]);
  expect(await mend(code)).toEqual([]);
});

test("a function that acts as somebody else than the owner of the tables: found, and mended", async () => {
  const { sql, codes, login, mend } = await openWard();
  const other = await login("", "doorbell_reader");
  await sql(`grant usage, create on schema doorbell to ${other}`);
  await sql(`alter function doorbell.extend owner to ${other}`);
  expect(await codes()).toEqual(["function_owner"]);
  expect(await mend("function_owner")).toEqual([]);
});

test("a role of ours that is a member of another: found, and mended", async () => {
  const { database } = await openWard();
  // Roles are the server's, and other tests look at them: what is planted here is never committed.
  const client = new pg.Client(database.adminUrl);
  await client.connect();
  onTestFinished(() => client.end());
  const tx = { query: async <Row>(text: string) => (await client.query(text)).rows as Row[] };
  await client.query("begin");
  expect(await checkMemberships(tx)).toEqual([]);
  await client.query("grant doorbell_worker to doorbell_producer");
  const [found, ...more] = await checkMemberships(tx);
  expect(more).toEqual([]);
  expect(found).toMatchObject({ code: "role_memberships", subject: "doorbell_producer" });
  await client.query(found?.mend ?? "");
  expect(await checkMemberships(tx)).toEqual([]);
  await client.query("rollback");
});
