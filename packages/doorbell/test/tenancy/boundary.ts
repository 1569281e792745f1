// The tenant boundary of the tables, tried from all sides in transactions that are rolled back. It gives the faults that it
// finds instead of throwing, so that a test can also show that it finds a fault that was planted.
import type pg from "pg";
import { type Row, rows, sqlStateOf } from "../sql/support.ts";
import { insertOf, sampleOf } from "./samples.ts";

/** What was compared, and what was not as it must be. */
export class Checks {
  count = 0;
  readonly faults: string[] = [];

  equal(what: string, found: unknown, expected: unknown): void {
    this.count += 1;
    if (JSON.stringify(found) === JSON.stringify(expected)) return;
    this.faults.push(`${what}: ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`);
  }
}

const insufficientPrivilege = "42501";

/** The tables of ours that have a tenant, partitions included. */
export async function tenantTables(admin: pg.Client): Promise<readonly string[]> {
  const found = await rows<{ relname: string }>(
    admin,
    `select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = 'doorbell'::regnamespace and c.relkind in ('r', 'p') and a.attname = 'tenant_id' order by 1`,
  );
  return found.map((row) => row.relname);
}

/** A role that may do everything with our tables, and whom only the policies stop. */
export async function makeAlmighty(admin: pg.Client, name: string): Promise<void> {
  await admin.query(
    `do $$ begin
       if not exists (select from pg_roles where rolname = '${name}') then create role ${name}; end if;
     end $$`,
  );
  await admin.query(`grant usage on schema doorbell to ${name}; grant all on all tables in schema doorbell to ${name}`);
}

/** Tokens, where tenancy is signed. */
export interface Tokens {
  readonly of: (tenant: string) => string;
  /** With these tenant A is not in force, whatever the setting says. */
  readonly worthless: readonly (readonly [what: string, token: string])[];
}

/**
 * Two rows of tenant A and one of tenant B in each table; then, as `role`: without a tenant nothing is seen or changed and
 * nothing can be added; with A in force its own rows are (the positive control), and of B's none.
 */
export async function tryTables(
  admin: pg.Client,
  role: string,
  tables: readonly string[],
  checks: Checks,
  tokens: Tokens | null = null,
): Promise<void> {
  for (const table of tables) {
    await admin.query("begin");
    try {
      await tryTable(admin, role, table, checks, tokens);
    } finally {
      await admin.query("rollback");
    }
  }
}

async function tryTable(
  admin: pg.Client,
  role: string,
  table: string,
  checks: Checks,
  tokens: Tokens | null,
): Promise<void> {
  const sample = sampleOf(table);
  checks.equal(`${table}: the suite knows how to fill it`, sample !== undefined, true);
  if (sample === undefined) return;
  // One row a tenant is all that this table may have.
  const ofA = table === "tenants" ? 1 : 2;
  const others = await count(admin, table);
  for (const tenant of [...Array<string>(ofA).fill("tenant-a"), "tenant-b"])
    await admin.query(...insertOf(table, sample(tenant)));
  await admin.query(`set local role ${role}`);
  const equal = (what: string, found: unknown, expected: unknown): void =>
    checks.equal(`${table}, as ${role}, ${what}`, found, expected);
  const touched = (statement: string): Promise<number> => rowsTouched(admin, statement);
  const [select, update, remove] = [
    `select * from doorbell.${table}`,
    `update doorbell.${table} set tenant_id = tenant_id`,
    `delete from doorbell.${table}`,
  ];

  const nothings: [what: string, setting: string | null, token: string | null][] = [
    ["no tenant", null, null],
    ["the empty tenant", "", null],
    ...(tokens?.worthless ?? []).map(([what, token]): [string, string, string] => [what, "tenant-a", token]),
  ];
  for (const [none, setting, token] of nothings) {
    await clamp(admin, setting, token);
    equal(`${none}: rows read`, await touched(select), 0);
    equal(`${none}: rows updated`, await touched(update), 0);
    equal(`${none}: rows deleted`, await touched(remove), 0);
    equal(`${none}: an insert`, await sqlStateOf(admin, ...insertOf(table, sample("tenant-a"))), insufficientPrivilege);
  }

  await clamp(admin, "tenant-a", tokens?.of("tenant-a") ?? null);
  equal("A: own rows read", await touched(select), ofA);
  equal("A: own rows updated", await touched(update), ofA);
  equal("A: own rows deleted", await touched(remove), ofA);
  if (table !== "tenants")
    equal("A: an insert of its own", await sqlStateOf(admin, ...insertOf(table, sample("tenant-a"))), null);
  const ofB = " where tenant_id = 'tenant-b'";
  equal("A: B's rows read", await touched(select + ofB), 0);
  equal("A: B's rows updated", await touched(update + ofB), 0);
  equal("A: B's rows deleted", await touched(remove + ofB), 0);
  equal("A: an insert for B", await sqlStateOf(admin, ...insertOf(table, sample("tenant-b"))), insufficientPrivilege);
  equal(
    "A: a row given away to B",
    await sqlStateOf(admin, `update doorbell.${table} set tenant_id = 'tenant-b'`),
    insufficientPrivilege,
  );
  await admin.query("reset role");
  equal("rows left in the end", (await count(admin, table)) - others, ofA + (table === "tenants" ? 1 : 2));
}

async function rowsTouched(admin: pg.Client, statement: string): Promise<number> {
  await admin.query("savepoint look");
  const { rowCount } = await admin.query(statement);
  await admin.query("rollback to savepoint look");
  return rowCount ?? -1;
}

/** Null leaves the setting as no clamp has ever touched it. */
async function clamp(admin: pg.Client, tenant: string | null, token: string | null): Promise<void> {
  if (token !== null) await admin.query("select set_config('doorbell.token', $1, true)", [token]);
  if (tenant !== null) await admin.query("select set_config('doorbell.tenant_id', $1, true)", [tenant]);
}

async function count(admin: pg.Client, table: string): Promise<number> {
  return (await rows<Row & { n: number }>(admin, `select count(*)::int as n from doorbell.${table}`))[0]?.n ?? -1;
}
