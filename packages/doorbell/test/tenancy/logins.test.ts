// What the logins of web, worker and producer may do: call functions, and nothing else. Functions for one tenant keep to the
// clamp that they find, and give it back.
import { describe, expect, test } from "vitest";
import { rows, Sql, sqlStateOf } from "../sql/support.ts";
import { tenantTables } from "./boundary.ts";
import { insertOf, sampleOf } from "./samples.ts";

const clamp = (tenant: string): string => `select set_config('doorbell.tenant_id', '${tenant}', true)`;

describe("as the logins of web and worker", () => {
  test.each(["appUrl", "webUrl", "producerUrl"] as const)("%s cannot write any table directly", async (login) => {
    await using sql = await Sql.open();
    const client = await sql.connect(sql.db[login]);
    const tables = await tenantTables(await sql.connect(sql.db.adminUrl));
    await client.query("begin");
    await client.query(clamp("tenant-a"));
    for (const table of tables) {
      const sample = sampleOf(table)?.("tenant-a") ?? {};
      expect([table, await sqlStateOf(client, ...insertOf(table, sample))]).toEqual([table, "42501"]);
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
      "select doorbell.wait_for('w', 'a', gen_random_uuid(), 1, 'k', null, 1)",
      "select doorbell.spawn('w', 'a', gen_random_uuid(), 1, 'k', '{}', '[]')",
      "select doorbell.find_steps('{a}', array[gen_random_uuid()], '{k}')",
      "select doorbell.keep_steps('w', '{a}', array[gen_random_uuid()], '{1}', '{k}', array['1'::jsonb])",
      "select doorbell.wake_parents('{a}', array[gen_random_uuid()])",
    ];
    for (const statement of workerOnly)
      expect([statement, await sqlStateOf(web, statement)]).toEqual([statement, "42501"]);
    for (const statement of [...workerOnly, "select doorbell.replay('a', '{}')", "select * from doorbell.jobs"]) {
      expect([statement, await sqlStateOf(producer, statement)]).toEqual([statement, "42501"]);
    }
    expect(await sqlStateOf(web, "select doorbell.enqueue('a', 'k')")).toBeNull();
    expect(await sqlStateOf(producer, "select doorbell.enqueue('a', 'k')")).toBeNull();
    expect(await sqlStateOf(producer, "select doorbell.emit('a', 'e')")).toBeNull();
  });

  test("functions for one tenant are refused in a transaction that is clamped to another, and give the clamp back", async () => {
    await using sql = await Sql.open();
    const client = await sql.connect();
    await client.query("begin");
    await client.query(clamp("tenant-a"));
    for (const statement of [
      "select doorbell.enqueue('tenant-b', 'k')",
      `select * from doorbell.enqueue_many('[{"tenant":"tenant-b","kind":"k"}]')`,
      "select doorbell.emit('tenant-b', 'e')",
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
