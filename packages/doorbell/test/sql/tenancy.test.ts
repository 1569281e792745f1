// The tenant boundary, table by table, as the owner (whom FORCE binds) and as a role that was granted everything. Counts
// are asserted, not errors: a read without a tenant is zero rows. Each table has its positive control.
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../src/testing/database.ts";
import { type Row, rows, Sql, sqlStateOf } from "./support.ts";

/** What it takes to insert a row: the columns without a default, and a value for each. */
const samples: Record<string, (tenant: string) => Row> = {
  jobs: (tenant_id) => ({ tenant_id, id: crypto.randomUUID(), kind: "k" }),
  dead_letters: (tenant_id) => ({ tenant_id, id: crypto.randomUUID(), kind: "k", state: "failed" }),
  job_history: (tenant_id) => ({
    tenant_id,
    id: crypto.randomUUID(),
    kind: "k",
    state: "done",
    finished_at: new Date(),
  }),
  job_history_rest: (tenant_id) => ({
    tenant_id,
    id: crypto.randomUUID(),
    kind: "k",
    state: "done",
    finished_at: "2001-01-01",
  }),
  job_keys: (tenant_id) => ({
    tenant_id,
    kind: "k",
    key_hash: Buffer.from(crypto.randomUUID()),
    job_id: crypto.randomUUID(),
  }),
  attempts: (tenant_id) => ({ tenant_id, job_id: crypto.randomUUID(), attempt: 1, outcome: "retry" }),
  job_logs: (tenant_id) => ({
    tenant_id,
    job_id: crypto.randomUUID(),
    attempt: 1,
    n: 1,
    at: new Date(),
    level: "info",
    message: "m",
  }),
  effects: (tenant_id) => ({
    tenant_id,
    job_id: crypto.randomUUID(),
    key: "k",
    n: 1,
    type: "effect",
    idempotency_key: "i",
    request_hash: "h",
    attempt: 1,
  }),
  effect_outcomes: (tenant_id) => ({
    tenant_id,
    job_id: crypto.randomUUID(),
    key: "k",
    n: 1,
    source: "call",
    outcome: "completed",
  }),
  usage_counters: (tenant_id) => ({ tenant_id, meter: crypto.randomUUID(), day: "2026-01-01", amount: 1 }),
  doorbells: (tenant_id) => ({ tenant_id, lane: "default", turn: 1, priority: 0, job_id: crypto.randomUUID() }),
  unhandled: (tenant_id) => ({ tenant_id, job_id: crypto.randomUUID(), kind: "k", lane: "default" }),
  rung: (tenant_id) => ({ tenant_id, job_id: crypto.randomUUID() }),
  tenants: (tenant_id) => ({ tenant_id }),
  newcomers: (tenant_id) => ({ tenant_id }),
};

/** Partitions of the history are like it. */
const sampleOf = (table: string): ((tenant: string) => Row) | undefined =>
  samples[table] ??
  (/^job_history_\d{8}$/.test(table)
    ? (tenant) => ({ ...samples["job_history"]?.(tenant), finished_at: dayOf(table) })
    : undefined);
const dayOf = (table: string): string => table.replace(/^job_history_(\d{4})(\d{2})(\d{2})$/, "$1-$2-$3");

const insert = (table: string, row: Row): [string, unknown[]] => {
  const columns = Object.keys(row);
  return [
    `insert into doorbell.${table} (${columns.join(", ")}) values (${columns.map((_, n) => `$${n + 1}`).join(", ")})`,
    Object.values(row),
  ];
};

let db: TestDatabase;
let admin: pg.Client;
let tables: string[] = [];

beforeAll(async () => {
  db = await createTestDatabase();
  admin = new pg.Client(db.adminUrl);
  await admin.connect();
  await admin.query(
    "do $$ begin if not exists (select from pg_roles where rolname = 'everything') then create role everything; end if; end $$",
  );
  await admin.query(
    "grant usage on schema doorbell to everything; grant all on all tables in schema doorbell to everything",
  );
  const found = await rows<{ relname: string }>(
    admin,
    `select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = 'doorbell'::regnamespace and c.relkind in ('r', 'p') and a.attname = 'tenant_id' order by 1`,
  );
  tables = found.map((row) => row.relname);
});
afterAll(async () => {
  await admin.end();
  await db.drop();
});

const clamp = (tenant: string | null) =>
  tenant === null ? "select 1" : `select set_config('doorbell.tenant_id', '${tenant}', true)`;
const count = async (table: string): Promise<number> =>
  (await rows<{ n: number }>(admin, `select count(*)::int as n from doorbell.${table}`))[0]?.n ?? -1;

describe.each(["doorbell_owner", "everything"])("as %s", (role) => {
  test("every table with a tenant shows, changes and takes rows of the clamped tenant only", async () => {
    expect(tables.length).toBeGreaterThan(20);
    for (const table of tables) {
      const sample = sampleOf(table);
      expect(sample, `this test knows how to fill ${table}`).toBeDefined();
      if (sample === undefined) continue;
      await admin.query("begin");
      for (const tenant of ["tenant-a", "tenant-a", "tenant-b"]) {
        if (table === "tenants" && (await count(table)) > 0 && tenant === "tenant-a")
          await admin.query("delete from doorbell.tenants where tenant_id = 'tenant-a'");
        await admin.query(...insert(table, sample(tenant)));
      }
      const ofA = table === "tenants" ? 1 : 2;
      const total = await count(table);
      await admin.query(`set local role ${role}`);
      const touched = async (verb: string): Promise<number> => {
        await admin.query("savepoint look");
        const { rowCount } = await admin.query(verb);
        await admin.query("rollback to savepoint look");
        return rowCount ?? -1;
      };
      const select = `select * from doorbell.${table}`;
      const update = `update doorbell.${table} set tenant_id = tenant_id`;
      const remove = `delete from doorbell.${table}`;

      for (const none of [null, ""]) {
        await admin.query(clamp(none));
        expect([table, none, await touched(select), await touched(update), await touched(remove)]).toEqual([
          table,
          none,
          0,
          0,
          0,
        ]);
        expect([table, none, await sqlStateOf(admin, ...insert(table, sample("tenant-a")))]).toEqual([
          table,
          none,
          "42501",
        ]);
      }
      await admin.query(clamp("tenant-a"));
      expect([table, await touched(select), await touched(update), await touched(remove)]).toEqual([
        table,
        ofA,
        ofA,
        ofA,
      ]);
      const b = " where tenant_id = 'tenant-b'";
      expect([table, await touched(select + b), await touched(update + b), await touched(remove + b)]).toEqual([
        table,
        0,
        0,
        0,
      ]);
      expect([table, await sqlStateOf(admin, ...insert(table, sample("tenant-b")))]).toEqual([table, "42501"]);
      expect([table, await sqlStateOf(admin, `update doorbell.${table} set tenant_id = 'tenant-b'`)]).toEqual([
        table,
        "42501",
      ]);
      await admin.query("reset role");
      expect(await count(table)).toBe(total);
      await admin.query("rollback");
    }
  });
});

describe("as the logins of web and worker", () => {
  test.each(["appUrl", "webUrl", "producerUrl"] as const)("%s cannot write any table directly", async (login) => {
    await using sql = new Sql(await createTestDatabase());
    const client = await sql.connect(sql.db[login]);
    await client.query("begin");
    await client.query(clamp("tenant-a"));
    for (const table of tables) {
      if (
        !(
          await rows<{ there: boolean }>(client, "select to_regclass($1) is not null as there", [`doorbell.${table}`])
        )[0]?.there
      )
        continue;
      const sample = sampleOf(table)?.("tenant-a") ?? {};
      expect([table, await sqlStateOf(client, ...insert(table, sample))]).toEqual([table, "42501"]);
      expect([table, await sqlStateOf(client, `update doorbell.${table} set tenant_id = 'x'`)]).toEqual([
        table,
        "42501",
      ]);
      expect([table, await sqlStateOf(client, `delete from doorbell.${table}`)]).toEqual([table, "42501"]);
      expect([table, await sqlStateOf(client, `truncate doorbell.${table}`)]).toEqual([table, "42501"]);
    }
  });

  test("web cannot claim, tick, settle or sweep, and a producer can only enqueue", async () => {
    await using sql = await Sql.open();
    const web = await sql.connect(sql.db.webUrl);
    const producer = await sql.connect(sql.db.producerUrl);
    const workerOnly = [
      "select * from doorbell.claim('w', array['a'], array[gen_random_uuid()], array['k'])",
      "select * from doorbell.tick('w', array['k'], 1, array['default'])",
      "select * from doorbell.settle('w', array['a'], array[gen_random_uuid()], array[1], array['done'])",
      "select * from doorbell.sweep()",
      "select * from doorbell.extend('w', array['a'], array[gen_random_uuid()], array[1])",
      "select * from doorbell.take('default', 1)",
      "select doorbell.canary()",
    ];
    for (const statement of workerOnly)
      expect([statement, await sqlStateOf(web, statement)]).toEqual([statement, "42501"]);
    for (const statement of [...workerOnly, "select doorbell.replay('a', '{}')", "select * from doorbell.jobs"]) {
      expect([statement, await sqlStateOf(producer, statement)]).toEqual([statement, "42501"]);
    }
    expect(await sqlStateOf(web, "select doorbell.enqueue('a', 'k')")).toBeNull();
    expect(await sqlStateOf(producer, "select doorbell.enqueue('a', 'k')")).toBeNull();
  });

  test("functions for one tenant are refused in a transaction that is clamped to another, and give the clamp back", async () => {
    await using sql = await Sql.open();
    const client = await sql.connect();
    await client.query("begin");
    await client.query(clamp("tenant-a"));
    for (const statement of [
      "select doorbell.enqueue('tenant-b', 'k')",
      `select * from doorbell.enqueue_many('[{"tenant":"tenant-b","kind":"k"}]')`,
      "select doorbell.cancel('tenant-b', gen_random_uuid())",
      "select * from doorbell.replay('tenant-b', '{}')",
      "select * from doorbell.tick('w', array['k'], 1, array['default'])",
      "select * from doorbell.claim('w', array['tenant-b'], array[gen_random_uuid()], array['k'])",
    ]) {
      expect([statement, await sqlStateOf(client, statement)]).toEqual([statement, "42501"]);
      expect(await rows(client, "select current_setting('doorbell.tenant_id') as tenant")).toEqual([
        { tenant: "tenant-a" },
      ]);
    }
    await client.query("select doorbell.enqueue('tenant-a', 'k')");
    expect(await rows(client, "select current_setting('doorbell.tenant_id') as tenant")).toEqual([
      { tenant: "tenant-a" },
    ]);
    expect(await rows(client, "select tenant_id from doorbell.jobs")).toEqual([{ tenant_id: "tenant-a" }]);
    await client.query("commit");
    expect(await rows(client, "select current_setting('doorbell.tenant_id') as tenant")).toEqual([{ tenant: "" }]);
    expect(await rows(client, "select * from doorbell.jobs")).toEqual([]);
  });
});
