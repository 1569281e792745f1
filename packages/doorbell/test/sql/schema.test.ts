// sql/schema.sql is what the migrations make, read back from the catalog, so that every change of the schema shows in
// review. After a change: UPDATE_SCHEMA=1 npm test -- schema
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type pg from "pg";
import { expect, test } from "vitest";
import { fromPg } from "../../src/client/tx.ts";
import { migrate, schemaState } from "../../src/store/migrate.ts";
import { rows, Sql } from "./support.ts";

const file = fileURLToPath(new URL("../../sql/schema.sql", import.meta.url));

/** Partitions come and go with the days, and are made like their parent. */
const lasting = "c.relnamespace = 'doorbell'::regnamespace and c.relname !~ '^job_history_\\d{8}'";

async function dump(client: pg.Client): Promise<string> {
  const lines = async (text: string): Promise<string[]> =>
    (await rows<{ line: string }>(client, text)).map((row) => row.line);
  const relations = await rows<{ oid: number; name: string; kind: string; forced: boolean; unlogged: boolean }>(
    client,
    `select c.oid, c.relname as name, c.relkind as kind, c.relforcerowsecurity as forced, c.relpersistence = 'u' as unlogged
       from pg_class c where ${lasting} and c.relkind in ('r', 'p', 'v') order by 2`,
  );
  const parts: string[] = [
    "-- What the migrations make, read back from the catalog. Compared by test/sql/schema.test.ts; not run.",
  ];
  for (const { oid, name, kind, forced, unlogged } of relations) {
    const what = { r: "table", p: "partitioned table", v: "view" }[kind];
    const own = await lines(
      `select '  ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || case when a.attnotnull then ' not null' else '' end
              || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') as line
         from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
        where a.attrelid = ${oid} and a.attnum > 0 and not a.attisdropped order by a.attnum`,
    );
    const rest = await lines(
      `select line from (
         select 1 as part, '  constraint ' || pg_get_constraintdef(oid) as line from pg_constraint where conrelid = ${oid} and contype <> 'n'
         union all select 2, '  ' || replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ') from pg_index where indrelid = ${oid}
         union all select 3, '  policy ' || polname || case when polroles = '{0}' then '' else ' to ' || polroles::regrole[]::text end
                             || ' using ' || pg_get_expr(polqual, polrelid) || ' with check ' || pg_get_expr(polwithcheck, polrelid)
                     from pg_policy where polrelid = ${oid}
         union all select 4, '  grant ' || string_agg(lower(privilege_type), ', ' order by privilege_type) || ' to ' || grantee::regrole
                     from pg_class c, aclexplode(c.relacl) where c.oid = ${oid} and grantee <> c.relowner group by grantee) p
        order by part, line collate "C"`,
    );
    parts.push(
      [
        `${unlogged ? "unlogged " : ""}${what} ${name}${forced ? " (row-level security forced)" : ""}`,
        ...own,
        ...rest,
      ].join("\n"),
    );
  }
  const functions = await lines(
    `select p.oid::regprocedure || case when p.prosecdef then ' security definer' else '' end
            || coalesce(' set ' || array_to_string(p.proconfig, ', '), '')
            || coalesce((select ' grant to ' || string_agg(grantee::regrole::text, ', ' order by grantee::regrole::text)
                           from aclexplode(p.proacl) where grantee <> p.proowner), '') as line
       from pg_proc p where p.pronamespace = 'doorbell'::regnamespace order by p.oid::regprocedure::text collate "C"`,
  );
  return `${[...parts, ["functions", ...functions.map((line) => `  ${line}`)].join("\n")].join("\n\n")}\n`;
}

test("the schema is the one that was reviewed", async () => {
  await using sql = await Sql.open();
  const actual = await dump(await sql.connect(sql.db.adminUrl));
  if (process.env["UPDATE_SCHEMA"] !== undefined) writeFileSync(file, actual);
  expect(actual).toBe(readFileSync(file, "utf8"));
});

test("eight migrations at once leave one row a version, and a second run does nothing", async () => {
  await using sql = await Sql.open();
  const first = await sql.connect(sql.db.adminUrl);
  await first.query("drop schema doorbell cascade");
  const clients = await Promise.all(Array.from({ length: 8 }, () => sql.connect(sql.db.adminUrl)));
  const reports = await Promise.all(clients.map((client) => migrate(client)));
  expect(reports.filter((report) => report.applied.length > 0)).toHaveLength(1);
  expect(await migrate(first)).toEqual({ applied: [], functionsReplaced: false, keysChanged: false });
  expect(await schemaState(fromPg(first))).toEqual({ behind: [], ahead: [] });
  expect(
    await rows(first, "select name, count(*)::int as n from doorbell.migrations group by 1 having count(*) > 1"),
  ).toEqual([]);
});
