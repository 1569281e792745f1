import { expect, test } from "vitest";
import { claim, enqueue, rows, Sql, settle } from "./support.ts";

const settleOne = "select doorbell.settle('w', array[$1], array[$2::uuid], array[1], array['done'])";

test("a settled job goes with all that belongs to it when its time is over; unfinished jobs and dead letters stay", async () => {
  await using sql = await Sql.open();
  const client = await sql.connect();
  const admin = await sql.connect(sql.db.adminUrl);
  const ids: string[] = [];
  for (const tenant of ["acme", "globex"]) {
    for (const key of ["old", "new"]) {
      const [row] = await rows<{ job_id: string }>(
        client,
        "select job_id from doorbell.enqueue($1, 'work', key => $2)",
        [tenant, key],
      );
      ids.push(String(row?.job_id));
    }
  }
  const waiting = await enqueue(client, "acme");
  const dead = await enqueue(client, "acme");
  await client.query("select doorbell.claim('w', $1, $2, array['work'])", [
    ["acme", "acme", "globex", "globex", "acme"],
    [...ids, dead],
  ]);
  for (const [n, id] of ids.entries()) {
    const tenant = n < 2 ? "acme" : "globex";
    await client.query(
      "select doorbell.begin_effects('w', array[$1], array[$2::uuid], array[1], array['k'], array['effect'], array['i'], array['h'], array[false])",
      [tenant, id],
    );
    await client.query(
      "select doorbell.finish_effects(array[$1], array[$2::uuid], array['k'], array[1], array['call'], array['completed'], array['1']::jsonb[], array[null])",
      [tenant, id],
    );
    await client.query(
      "select doorbell.write_logs(array[$1], array[$2::uuid], array[1], array[1], array[now()], array['info'], array[null], array['hello'], array[null]::jsonb[])",
      [tenant, id],
    );
    await client.query("select doorbell.tell_delivery($1, $2, 'k', 1, gen_random_uuid(), 'completed', 200, 3, null)", [
      tenant,
      id,
    ]);
    await client.query(settleOne, [tenant, id]);
  }
  await client.query(
    "select doorbell.settle('w', array['acme'], array[$1::uuid], array[1], array['failed'], errors => array['no'])",
    [dead],
  );
  await client.query("select * from doorbell.sweep()");

  // 40 days ago there was a partition, and two of the jobs settled in it.
  await admin.query(
    "create table doorbell.job_history_20200101 partition of doorbell.job_history for values from ('2020-01-01') to ('2020-01-02')",
  );
  await admin.query("alter table doorbell.job_history_20200101 owner to doorbell_owner");
  await admin.query("update doorbell.job_history set finished_at = '2020-01-01 12:00Z' where id = any ($1)", [
    [ids[0], ids[2]],
  ]);

  const retire = async () =>
    (
      await rows<{ last: string | null; jobs: string; dropped: number }>(client, "select * from doorbell.retire('')")
    )[0];
  expect(await retire()).toEqual({ last: "globex", jobs: "2", dropped: 0 });
  expect(await rows(client, "select * from doorbell.retire('globex')")).toEqual([
    { last: null, jobs: "0", dropped: 1 },
  ]);

  const left = async (table: string, column = "job_id") =>
    (await rows<{ id: string }>(admin, `select distinct ${column} as id from doorbell.${table} order by 1`)).map(
      (row) => row.id,
    );
  const kept = [ids[1], ids[3]].toSorted();
  for (const table of ["effects", "effect_outcomes", "job_logs", "job_keys", "webhook_deliveries"])
    expect([table, await left(table)]).toEqual([table, kept]);
  expect(await left("all_jobs", "id")).toEqual([...kept, waiting, dead].toSorted());
  const [again] = await rows<{ created: boolean }>(
    client,
    "select created from doorbell.enqueue('acme', 'work', key => 'old')",
  );
  expect(again?.created).toBe(true);
});

test("a reader of old history does not stall retention, nor retention a settle: the partition is dropped later", async () => {
  await using sql = await Sql.open();
  const [client, reader, admin] = [
    await sql.connect(),
    await sql.connect(sql.db.webUrl),
    await sql.connect(sql.db.adminUrl),
  ];
  await admin.query(
    "create table doorbell.job_history_20200101 partition of doorbell.job_history for values from ('2020-01-01') to ('2020-01-02')",
  );
  await admin.query("alter table doorbell.job_history_20200101 owner to doorbell_owner");
  await reader.query("begin");
  await reader.query("select count(*) from doorbell.job_history");
  expect(await rows(client, "select dropped from doorbell.retire()")).toEqual([{ dropped: 0 }]);
  const id = await enqueue(client, "acme");
  await client.query("select doorbell.claim('w', array['acme'], array[$1::uuid], array['work'])", [id]);
  await client.query(settleOne, ["acme", id]);
  await reader.query("commit");
  expect(await rows(client, "select dropped from doorbell.retire()")).toEqual([{ dropped: 1 }]);
});

test("a reader of the history does not make settles queue behind a new partition, which is made later", async () => {
  await using sql = await Sql.open();
  const client = await sql.connect();
  const reader = await sql.connect(sql.db.adminUrl);
  const maker = await sql.connect();
  const id = await enqueue(client, "acme");
  await claim(client, "w", [["acme", id]]);
  const partitions = async () =>
    (await rows(reader, "select from pg_inherits where inhparent = 'doorbell.job_history'::regclass")).length;
  const before = await partitions();
  await reader.query("begin; select from doorbell.job_history");
  await maker.query("set statement_timeout = '5s'; select doorbell.add_partitions(9)");
  expect(await settle(client, "w", [{ tenant: "acme", id, attempt: 1 }])).toEqual([id]);
  await reader.query("rollback");
  expect(await partitions()).toBe(before);
  await maker.query("select doorbell.add_partitions(9)");
  expect(await partitions()).toBe(before + 2);
});

test("a job whose ledger is gone is not replayed, although its row is still there", async () => {
  await using sql = await Sql.open();
  const client = await sql.connect();
  const admin = await sql.connect(sql.db.adminUrl);
  const [old, fresh] = [await enqueue(client, "acme"), await enqueue(client, "acme")];
  for (const id of [old, fresh]) await claim(client, "w", [["acme", id]]);
  for (const id of [old, fresh]) await settle(client, "w", [{ tenant: "acme", id, attempt: 1 }]);
  await admin.query("update doorbell.job_history set finished_at = now() - interval '31 days' where id = $1", [old]);
  expect(
    await rows(client, "select id, answer from doorbell.replay('acme', array[$1, $2]::uuid[]) order by id", [
      old,
      fresh,
    ]),
  ).toEqual([
    { id: old, answer: "not_found" },
    { id: fresh, answer: "replayed" },
  ]);
});

test("a job's story tells all of its attempts in order", async () => {
  await using sql = await Sql.open();
  const client = await sql.connect();
  const id = await enqueue(client, "acme");
  const bell = [["acme"], [id]];
  await client.query("select doorbell.claim('w1', $1, $2, array['work'])", bell);
  await client.query(
    "select doorbell.write_logs(array['acme'], array[$1::uuid], array[1], array[1], array[clock_timestamp()], array['info'], array['fetch'], array['got it'], array[null]::jsonb[])",
    [id],
  );
  await client.query(
    "select doorbell.settle('w1', array['acme'], array[$1::uuid], array[1], array['retry'], array[0]::bigint[], errors => array['boom'])",
    [id],
  );
  await client.query("select doorbell.claim('w2', $1, $2, array['work'])", bell);
  await client.query(
    "select doorbell.settle('w2', array['acme'], array[$1::uuid], array[2], array['done'], results => array['1']::jsonb[])",
    [id],
  );
  await client.query("select doorbell.replay('acme', array[$1::uuid])", [id]);
  await client.query("select doorbell.claim('w3', $1, $2, array['work'])", bell);
  await client.query("select doorbell.settle('w3', array['acme'], array[$1::uuid], array[3], array['done'])", [id]);
  await client.query("begin");
  await client.query("select set_config('doorbell.tenant_id', 'acme', true)");
  const told = await rows<{ attempt: number; message: string }>(
    client,
    "select attempt, message from doorbell.story('acme', $1)",
    [id],
  );
  expect(told.map((line) => line.message)).toEqual([
    "enqueued",
    "attempt 1 claimed",
    "got it",
    "attempt 1 ended: retry",
    "attempt 2 claimed",
    "attempt 2 ended: done",
    "attempt 3 claimed",
    "done",
  ]);
  await client.query("select set_config('doorbell.tenant_id', 'globex', true)");
  expect(await rows(client, "select * from doorbell.story('globex', $1)", [id])).toEqual([]);
});
