// Every table with a tenant, from all sides; and the proof that the suite sees what it is there to see: each policy, each
// FORCE and the clamp itself is taken away once.
import type pg from "pg";
import { expect, test } from "vitest";
import { rows, Sql, sqlStateOf } from "../sql/support.ts";
import { Checks, makeAlmighty, tenantTables, tryTables } from "./boundary.ts";
import { expectSound } from "./counted.ts";
import { signing, worthlessTokens } from "./signing.ts";

const almighty = "everything";

async function open(): Promise<{ readonly sql: Sql; readonly admin: pg.Client; readonly tables: readonly string[] }> {
  const sql = await Sql.open();
  const admin = await sql.connect(sql.db.adminUrl);
  await makeAlmighty(admin, almighty);
  return { sql, admin, tables: await tenantTables(admin) };
}

// FORCE binds the owner; whoever was granted everything is bound without it.
test.each(["doorbell_owner", almighty])(
  "as %s, every table shows, changes and takes rows of the clamped tenant only",
  async (role) => {
    const { sql, admin, tables } = await open();
    await using _ = sql;
    const checks = new Checks();
    await tryTables(admin, role, tables, checks);
    expectSound(checks, 15 * 20);
  },
);

// What our functions do is judged by the caller's token before (signed.test.ts); what a reader sees, by the policies.
test("where tenancy is signed, rows are seen with a token for their tenant, and with no other", async () => {
  const { sql, admin, tables } = await open();
  await using _ = sql;
  const { tenancy, accept } = signing();
  const sign = (tenant: string): string => tenancy.sign?.(tenant) ?? "";
  await accept(admin);
  const checks = new Checks();
  await tryTables(admin, almighty, tables, checks, { of: sign, worthless: worthlessTokens(sign) });
  expectSound(checks, 15 * 60);
}, 60_000);

/** What the suite finds at fault with one table after something was taken away, in a transaction of the database's life. */
async function faultsAfter(admin: pg.Client, role: string, table: string, plant: string): Promise<readonly string[]> {
  const checks = new Checks();
  await admin.query(plant);
  await tryTables(admin, role, [table], checks).catch((error: Error) =>
    checks.faults.push(`${table}: ${error.message}`),
  );
  return checks.faults;
}

test("a policy that is missing, or open to all, is found at every table", async () => {
  const { sql, admin, tables } = await open();
  await using _ = sql;
  for (const table of tables) {
    const policies = await rows<{ policyname: string }>(
      admin,
      "select policyname from pg_policies where schemaname = 'doorbell' and tablename = $1",
      [table],
    );
    const drop = policies.map(({ policyname }) => `drop policy ${policyname} on doorbell.${table};`).join("");
    expect(await faultsAfter(admin, almighty, table, drop), `${table} without a policy`).not.toEqual([]);
    const open = `create policy open on doorbell.${table} using (true) with check (true)`;
    expect(await faultsAfter(admin, almighty, table, open), `${table} with an open policy`).not.toEqual([]);
  }
}, 60_000);

test("row-level security that is not forced, or off, is found at every table", async () => {
  const { sql, admin, tables } = await open();
  await using _ = sql;
  for (const table of tables) {
    const unforced = `alter table doorbell.${table} no force row level security`;
    expect(await faultsAfter(admin, "doorbell_owner", table, unforced), `${table} unforced`).not.toEqual([]);
    const off = `alter table doorbell.${table} disable row level security`;
    expect(await faultsAfter(admin, almighty, table, off), `${table} with row-level security off`).not.toEqual([]);
  }
}, 60_000);

/** What the functions do with the clamp, as the product's login: set it, and give back the one they found. */
async function tryClamps(client: pg.Client, checks: Checks): Promise<void> {
  const inForce = async (): Promise<unknown> =>
    (await rows(client, "select current_setting('doorbell.tenant_id', true) as tenant"))[0]?.["tenant"] ?? "";
  for (const caller of ["", "tenant-a"]) {
    await client.query("begin");
    if (caller !== "") await client.query("select set_config('doorbell.tenant_id', $1, true)", [caller]);
    checks.equal(`in '${caller}', enqueue`, await sqlStateOf(client, "select doorbell.enqueue('tenant-a', 'k')"), null);
    checks.equal(`in '${caller}', after enqueue`, await inForce(), caller);
    const many = `select * from doorbell.enqueue_many('[{"tenant":"tenant-a","kind":"k"}]')`;
    checks.equal(`in '${caller}', enqueue_many`, await sqlStateOf(client, many), null);
    checks.equal(`in '${caller}', after enqueue_many`, await inForce(), caller);
    const read = "select count(*)::int as n from doorbell.jobs";
    checks.equal(`in '${caller}', rows read`, (await rows(client, read))[0]?.["n"], caller === "" ? 0 : 2);
    await client.query("rollback");
  }
}

test.each([
  ["is not set", "doorbell.clamp(tenant text, caller text)"],
  ["is not given back", "doorbell.unclamp(caller text)"],
])("a clamp that %s is found", async (_name, clamp) => {
  const { sql, admin } = await open();
  await using _ = sql;
  const client = await sql.connect();
  const before = new Checks();
  await tryClamps(client, before);
  expectSound(before, 10);
  await admin.query(`create or replace function ${clamp} returns void language plpgsql as 'begin end'`);
  const after = new Checks();
  await tryClamps(client, after);
  expect(after.faults).not.toEqual([]);
});
