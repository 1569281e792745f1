// What keeps one failure from costing more than itself: breakers, jobs that kill their process, a key that another has, and
// an effect that a person wants again.
import type pg from "pg";
import { expect, test } from "vitest";
import { claim, enqueue, type Row, rows, Sql, sqlStateOf } from "./support.ts";

interface Ticked extends Row {
  readonly what: string;
  readonly id: string;
  readonly attempt: number;
}

const tick = (client: pg.Client, max = 100) =>
  rows<Ticked>(client, "select * from doorbell.tick('w', array['work'], $1, array['default'])", [max]);

const claimedBy = async (client: pg.Client, max = 100) =>
  (await tick(client, max)).filter((row) => row.what === "claimed");

/** Ends attempts: done, or failed in one way. What was opened by it comes back. */
const end = (client: pg.Client, jobs: readonly { readonly id: string; readonly attempt: number }[], outcome: string) =>
  rows<Ticked>(
    client,
    `select * from doorbell.tick('w', array['work'], 0, array['default'], tenants => array_fill('acme'::text, array[cardinality($1::uuid[])]),
       ids => $1, attempts => $2, outcomes => array_fill($3::text, array[cardinality($1)]),
       delays => array_fill(3600000::bigint, array[cardinality($1)]), errors => array_fill('the bank is away'::text, array[cardinality($1)]),
       codes => array_fill('away'::text, array[cardinality($1)]), fingerprints => array_fill('f'::text, array[cardinality($1)]))`,
    [jobs.map(({ id }) => id), jobs.map(({ attempt }) => attempt), outcome],
  );

async function enqueueMany(client: pg.Client, count: number, tenant = "acme"): Promise<void> {
  for (let n = 0; n < count; n += 1) await enqueue(client, tenant);
}

const pass = (admin: pg.Client) => admin.query("update doorbell.breakers set held_until = clock_timestamp()");

test("ten jobs that fail alike pause their kind for their tenant alone: the others keep their place, lose no attempt, and come back by themselves", async () => {
  await using sql = await Sql.open();
  const client = await sql.connect();
  const admin = await sql.connect(sql.db.adminUrl);
  await admin.query("update doorbell.settings set value = '1500' where name = 'breaker_pause_ms'");
  await enqueueMany(client, 30);
  const first = await claimedBy(client, 10);
  expect(await end(client, first.slice(0, 9), "retry")).toEqual([]);
  expect(await end(client, first.slice(9), "failed")).toMatchObject([
    { what: "opened", tenant_id: "acme", kind: "work" },
  ]);

  await enqueue(client, "other");
  const held = await tick(client);
  expect(held.filter((row) => row.what === "held")).toMatchObject([{ attempt: 20 }]);
  expect(held.filter((row) => row.what === "claimed")).toMatchObject([{ tenant_id: "other" }]);
  expect(
    await rows(
      admin,
      "select count(*)::int as n from doorbell.jobs where tenant_id = 'acme' and attempts = 0 and state = 'queued'",
    ),
  ).toEqual([{ n: 20 }]);
  await client.query("select doorbell.sweep(grace => '0 s', idle_lanes => '{default}')");
  expect(await claimedBy(client)).toEqual([]);

  await new Promise((resolve) => setTimeout(resolve, 1_700));
  const probe = await claimedBy(client);
  expect(probe).toHaveLength(1);
  expect(await claimedBy(client)).toEqual([]);
  await end(client, probe, "done");
  expect(await rows(admin, "select * from doorbell.breakers")).toEqual([]);
  let rest = 0;
  for (let n = 0; n < 50 && rest < 19; n += 1) {
    rest += (await claimedBy(client)).length;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  expect(rest).toBe(19);
});

test("a failure of the job that was let through begins a pause twice as long; a person can end it", async () => {
  await using sql = await Sql.open();
  const client = await sql.connect();
  const admin = await sql.connect(sql.db.adminUrl);
  await enqueueMany(client, 14);
  await end(client, await claimedBy(client, 10), "retry");
  await tick(client);
  await pass(admin);
  const left = await rows<{ id: string }>(admin, "select id from doorbell.jobs where run_after <= now()");
  const probe = await claim(
    client,
    "w",
    left.map(({ id }) => ["acme", id] as const),
  );
  expect(probe).toHaveLength(1);
  expect(await end(client, probe, "retry")).toMatchObject([{ what: "opened", attempt: 2 }]);
  const [pause] = await rows<{ s: number }>(
    admin,
    "select round(extract(epoch from held_until - clock_timestamp()))::int as s from doorbell.breakers",
  );
  expect(pause?.s).toBe(120);
  expect(await rows(client, "select doorbell.close_breaker('acme', 'work') as closed")).toEqual([{ closed: true }]);
  expect(await rows(client, "select doorbell.close_breaker('acme', 'work') as closed")).toEqual([{ closed: false }]);
  expect(await rows(admin, "select * from doorbell.failures")).toEqual([]);
});

test("nine failures, one job that fails ten times, and failures with a success between them open nothing", async () => {
  await using sql = await Sql.open();
  const client = await sql.connect();
  const admin = await sql.connect(sql.db.adminUrl);
  await enqueueMany(client, 20);
  const jobs = await claimedBy(client);
  await end(client, jobs.slice(0, 9), "failed");
  await end(client, jobs.slice(9, 10), "done");
  await end(client, jobs.slice(10, 19), "failed");
  expect(await rows(admin, "select * from doorbell.breakers")).toEqual([]);
  await end(client, jobs.slice(19), "done");
  const one = await enqueue(client, "acme");
  for (let attempt = 1; attempt <= 9; attempt += 1) {
    await admin.query("update doorbell.jobs set run_after = now()");
    await claim(client, "w", [["acme", one]]);
    await end(client, [{ id: one, attempt }], "retry");
  }
  expect(await rows(admin, "select count(*)::int as n from doorbell.failures")).toEqual([{ n: 9 }]);
  expect(await rows(admin, "select * from doorbell.breakers")).toEqual([]);
});

test("of four workers at once exactly one lets a job through when the pause is over", async () => {
  await using sql = await Sql.open();
  const admin = await sql.connect(sql.db.adminUrl);
  const workers = await Promise.all([1, 2, 3, 4].map(() => sql.connect()));
  const [client] = workers as [pg.Client];
  await enqueueMany(client, 50);
  await end(client, await claimedBy(client, 10), "failed");
  const ids = (await rows<{ id: string }>(admin, "select id from doorbell.jobs order by id")).map((row) => row.id);
  for (let round = 0; round < 20; round += 1) {
    await pass(admin);
    const claimed = await Promise.all(
      workers.map((worker) =>
        claim(
          worker,
          "w",
          ids.map((id) => ["acme", id] as const),
        ),
      ),
    );
    expect(claimed.flat()).toHaveLength(1);
  }
});

test("a job whose process dies three times in a row is a dead letter that says so, with attempts left; one that was released in between is not", async () => {
  await using sql = await Sql.open();
  const client = await sql.connect();
  const admin = await sql.connect(sql.db.adminUrl);
  const killer = await enqueue(client, "acme");
  const other = await enqueue(client, "acme");
  await client.query(
    "select doorbell.beat('w', 'worker', 'h', 1, '0', '{work}', '{default}', 1, 0, false, 0, '1.2.3')",
  );
  const lose = async () => {
    await admin.query("update doorbell.jobs set run_after = now()");
    await claim(client, "w", [
      ["acme", killer],
      ["acme", other],
    ]);
    await admin.query("update doorbell.jobs set lease_until = now() - interval '1 s' where state = 'claimed'");
  };
  await lose();
  await client.query("select doorbell.sweep()");
  await admin.query("update doorbell.jobs set run_after = now()");
  await claim(client, "w", [["acme", other]]);
  await client.query("select doorbell.settle('w', '{acme}', array[$1::uuid], '{2}', '{release}', '{0}')", [other]);
  for (let n = 0; n < 2; n += 1) {
    await lose();
    await client.query("select doorbell.sweep()");
  }
  expect(
    await rows(admin, "select id, attempts, error_code, fingerprint, app_version from doorbell.dead_letters"),
  ).toEqual([
    { id: killer, attempts: 3, error_code: "process_killer", fingerprint: "process_killer", app_version: "1.2.3" },
  ]);
  expect(await rows(admin, "select id, state from doorbell.jobs")).toEqual([{ id: other, state: "queued" }]);

  await client.query("select doorbell.replay('acme', array[$1::uuid])", [killer]);
  await lose();
  await client.query("select doorbell.sweep()");
  expect(await rows(admin, "select state from doorbell.jobs where id = $1", [killer])).toEqual([{ state: "queued" }]);
});

test("a dead letter keeps its key, and one whose key is another's all the same is not replayed", async () => {
  await using sql = await Sql.open();
  const client = await sql.connect();
  const admin = await sql.connect(sql.db.adminUrl);
  const [job] = await rows<{ job_id: string }>(
    client,
    "select job_id from doorbell.enqueue('acme', 'work', key => 'k')",
  );
  const id = job?.job_id as string;
  await end(client, await claimedBy(client), "failed");
  expect(await rows(client, "select job_id, created from doorbell.enqueue('acme', 'work', key => 'k')")).toEqual([
    { job_id: id, created: false },
  ]);
  await admin.query("update doorbell.job_keys set job_id = gen_random_uuid()");
  const fine = await enqueue(client, "acme");
  await end(client, await claimedBy(client), "failed");
  const answers = await rows<{ id: string; answer: string }>(
    client,
    "select * from doorbell.replay('acme', array[$1::uuid, $2])",
    [id, fine],
  );
  expect(new Map(answers.map((one) => [one.id, one.answer]))).toEqual(
    new Map([
      [id, "key_taken"],
      [fine, "replayed"],
    ]),
  );
  expect(await rows(admin, "select id from doorbell.dead_letters")).toEqual([{ id }]);
});

test("an effect that a person wants again begins a new intent under a new idempotency key, once and alone, with who and why on record", async () => {
  await using sql = await Sql.open();
  const client = await sql.connect();
  const id = await enqueue(client, "acme");
  const begin = (attempt: number, key: string) =>
    rows(
      client,
      `select verdict, intent, idempotency_key from doorbell.begin_effects('w', '{acme}', array[$1::uuid], array[$2::int], array[$3],
         '{effect}', array[$1::text || ':' || $3], '{h}', '{false}')`,
      [id, attempt, key],
    );
  const finish = (key: string, intent: number, value: number) =>
    client.query(
      "select doorbell.finish_effects('{acme}', array[$1::uuid], array[$2], array[$3::int], '{call}', '{completed}', array[to_jsonb($4::int)], '{null}')",
      [id, key, intent, value],
    );
  const refire = (key: string) =>
    rows(client, "select * from doorbell.refire('acme', array[$1::uuid], $2, 'it was lost in the post', 'anna')", [
      id,
      key,
    ]);
  await claimedBy(client);
  for (const key of ["mail", "pay"]) {
    await begin(1, key);
    await finish(key, 1, 7);
  }
  expect(await refire("mail")).toEqual([{ id, answer: "open" }]);
  await end(client, [{ id, attempt: 1 }], "done");
  expect(await refire("fax")).toEqual([{ id, answer: "not_completed" }]);
  expect(await refire("mail")).toEqual([{ id, answer: "replayed" }]);
  expect(await refire("mail")).toEqual([{ id, answer: "open" }]);

  await claim(client, "w", [["acme", id]]);
  expect(await begin(2, "pay")).toMatchObject([{ verdict: "completed" }]);
  const again = { verdict: "go", intent: 3, idempotency_key: `${id}:mail:again:2` };
  expect(await begin(2, "mail")).toEqual([again]);
  await finish("mail", 3, 8);
  await client.query("begin; select set_config('doorbell.tenant_id', 'acme', true)");
  expect(await rows(client, "select outcome, value, conflict from doorbell.effect_states where key = 'mail'")).toEqual([
    { outcome: "completed", value: 8, conflict: false },
  ]);
  expect(
    await rows(client, "select actor, reason, outcome from doorbell.effect_outcomes where source = 'person'"),
  ).toEqual([{ actor: "anna", reason: "to be done again: it was lost in the post", outcome: "not_done" }]);
  await client.query("rollback");
  expect(await sqlStateOf(client, "select doorbell.refire('acme', array[$1::uuid], 'mail', '', 'anna')", [id])).toBe(
    "22023",
  );
});
