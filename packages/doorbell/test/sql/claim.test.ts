import { expect, test } from "vitest";
import { type Claimed, claim, enqueue, rows, Sql, settle, shuffled, sqlStateOf } from "./support.ts";

test("ten workers and every doorbell ten times: each of 2,000 jobs is claimed exactly once", async () => {
  await using sql = await Sql.open();
  const admin = await sql.connect();
  const jobs = Array.from({ length: 2_000 }, (_, n) => ({ tenant: `t${n % 50}`, kind: "work" }));
  await admin.query("select count(*) from doorbell.enqueue_many($1)", [JSON.stringify(jobs)]);
  const superuser = await sql.connect(sql.db.adminUrl);
  await superuser.query("insert into doorbell.doorbells select d.* from doorbell.doorbells d, generate_series(1, 9)");
  const workers = await Promise.all(Array.from({ length: 10 }, () => sql.connect()));

  const claimed: string[] = [];
  let stale = 0;
  await Promise.all(
    workers.map(async (client, n) => {
      for (;;) {
        const answer = await rows<Claimed>(
          client,
          "select * from doorbell.tick($1, array['work'], 50, array['default'])",
          [`w${n}`],
        );
        if (answer.length === 0) break;
        claimed.push(...answer.filter((row) => row.what === "claimed").map((row) => row.id));
        stale += answer.filter((row) => row.what === "stale").reduce((sum, row) => sum + row.attempt, 0);
      }
    }),
  );
  expect(claimed.length).toBe(2_000);
  expect(new Set(claimed).size).toBe(2_000);
  expect(stale).toBe(18_000);
  expect(
    await rows(superuser, "select min(attempts)::int as least, max(attempts)::int as most from doorbell.jobs"),
  ).toEqual([{ least: 1, most: 1 }]);
});

test("a claim touches no index: every one of 2,000 claims of a fresh backlog is a HOT update", async () => {
  await using sql = await Sql.open();
  const client = await sql.connect();
  const jobs = Array.from({ length: 2_000 }, (_, n) => ({ tenant: "acme", kind: "work", payload: { n } }));
  await client.query("select count(*) from doorbell.enqueue_many($1)", [JSON.stringify(jobs)]);
  const worker = `host.example:12345:${"x".repeat(30)}`;
  for (let batch = 0; batch < 4; batch += 1) {
    await client.query("select from doorbell.tick($1, array['work'], 500, array['default'])", [worker]);
  }
  await client.query("select pg_stat_force_next_flush()");
  const superuser = await sql.connect(sql.db.adminUrl);
  expect(
    await rows(
      superuser,
      "select n_tup_upd::int as updates, n_tup_hot_upd::int as hot from pg_stat_user_tables where relid = 'doorbell.jobs'::regclass",
    ),
  ).toEqual([{ updates: 2_000, hot: 2_000 }]);
});

test("claims in shuffled orders beside settle, extend and sweep: no deadlock in 200 rounds", async () => {
  await using sql = await Sql.open();
  const producer = await sql.connect();
  const [a, b, c, d] = await Promise.all([sql.connect(), sql.connect(), sql.connect(), sql.connect()]);
  if (!a || !b || !c || !d) throw new Error("no connection");
  const failures: string[] = [];
  const noted = (promise: Promise<unknown>): Promise<unknown> =>
    promise.catch((error: { code: string }) => failures.push(error.code));
  for (let round = 0; round < 200; round += 1) {
    const jobs = Array.from({ length: 30 }, (_, n) => ({ tenant: `t${n % 7}`, kind: "work" }));
    await producer.query("select count(*) from doorbell.enqueue_many($1)", [JSON.stringify(jobs)]);
    const open = await rows<{ tenant_id: string; job_id: string }>(
      await sqlAdmin(sql),
      "select tenant_id, id as job_id from doorbell.jobs where state = 'queued' order by random() limit 60",
    );
    const bells = open.map((row) => [row.tenant_id, row.job_id] as const);
    const [one, two] = await Promise.all([claim(a, "w1", shuffled(bells), 1), claim(b, "w2", shuffled(bells), 1)]);
    const attempts = (claimed: readonly Claimed[]) =>
      shuffled(claimed).map((row) => ({ tenant: row.tenant_id, id: row.id, attempt: row.attempt }));
    const mixed = attempts(one).map((attempt, n) => ({
      ...attempt,
      outcome: ["done", "retry", "snooze", "failed", "release"][n % 5] as string,
    }));
    const extend = attempts(one);
    await Promise.all([
      noted(settle(a, "w1", mixed)),
      noted(
        rows(b, "select id from doorbell.extend('w1', $1, $2, $3, 1)", [
          extend.map((x) => x.tenant),
          extend.map((x) => x.id),
          extend.map((x) => x.attempt),
        ]),
      ),
      noted(settle(c, "w2", attempts(two))),
      noted(rows(d, "select * from doorbell.sweep()")),
    ]);
  }
  expect(failures).toEqual([]);
}, 60_000);

const admins = new WeakMap<Sql, ReturnType<Sql["connect"]>>();
function sqlAdmin(sql: Sql): ReturnType<Sql["connect"]> {
  const known = admins.get(sql) ?? sql.connect(sql.db.adminUrl);
  admins.set(sql, known);
  return known;
}

test("the fence never comes back: a late settle of the first claim is refused after a snooze and a second claim by the same worker", async () => {
  await using sql = await Sql.open();
  const client = await sql.connect();
  const id = await enqueue(client, "acme");
  const [first] = await claim(client, "w", [["acme", id]]);
  expect(first?.attempt).toBe(1);
  expect(await settle(client, "w", [{ tenant: "acme", id, attempt: 1, outcome: "snooze" }])).toEqual([id]);
  const [second] = await claim(client, "w", [["acme", id]]);
  expect(second?.attempt).toBe(2);
  expect(await settle(client, "w", [{ tenant: "acme", id, attempt: 1 }])).toEqual([]);
  expect(await rows(await sqlAdmin(sql), "select state, attempts, max_attempts from doorbell.all_jobs")).toEqual([
    { state: "claimed", attempts: 2, max_attempts: 11 },
  ]);
  expect(await settle(client, "w", [{ tenant: "acme", id, attempt: 2 }])).toEqual([id]);
});

test("another worker's settle, extend and intent are refused", async () => {
  await using sql = await Sql.open();
  const client = await sql.connect();
  const id = await enqueue(client, "acme");
  await claim(client, "w", [["acme", id]]);
  expect(await settle(client, "other", [{ tenant: "acme", id, attempt: 1 }])).toEqual([]);
  expect(
    await rows(client, "select id from doorbell.extend('other', array['acme'], array[$1::uuid], array[1])", [id]),
  ).toEqual([]);
  const begin =
    "select verdict from doorbell.begin_effects($1, array['acme'], array[$2::uuid], array[1], array['k'], array['effect'], array['i'], array['h'], array[false])";
  expect(await rows(client, begin, ["other", id])).toEqual([{ verdict: "lost" }]);
  expect(await rows(client, begin, ["w", id])).toEqual([{ verdict: "go" }]);
});

test("a lost attempt that is settled in one batch with the attempt after it leaves no result, and is told that it was lost", async () => {
  await using sql = await Sql.open();
  const client = await sql.connect();
  const id = await enqueue(client, "acme");
  await claim(client, "w", [["acme", id]]);
  await settle(client, "w", [{ tenant: "acme", id, attempt: 1, outcome: "release" }]);
  await claim(client, "w", [["acme", id]]);
  expect(
    await rows(
      client,
      `select what, attempt from doorbell.tick('w', '{work}', 0, tenants => '{acme,acme}', ids => array[$1, $1]::uuid[],
         attempts => '{2,1}', results => array['"second"', '"first"']::jsonb[])`,
      [id],
    ),
  ).toEqual([{ what: "lost", attempt: 1 }]);
  expect(await rows(await sqlAdmin(sql), "select attempts, result from doorbell.job_history")).toEqual([
    { attempts: 2, result: "second" },
  ]);
});

test("leases are kept although somebody holds the row of one of them, which counts as held", async () => {
  await using sql = await Sql.open();
  const client = await sql.connect();
  const other = await sql.connect();
  const bells: (readonly [string, string])[] = [];
  for (const tenant of ["acme", "globex", "initech"]) bells.push([tenant, await enqueue(client, tenant)]);
  await claim(client, "w", bells, 1_000);
  const [first] = bells;
  await other.query("begin");
  await settle(other, "w", [{ tenant: String(first?.[0]), id: String(first?.[1]), attempt: 1 }]);
  const extend = "select tenant_id, id from doorbell.extend('w', $1, $2, '{1,1,1}', 60000)";
  await client.query("set statement_timeout = '5s'");
  const held = await rows(client, extend, [bells.map(([tenant]) => tenant), bells.map(([, id]) => id)]);
  expect(held).toEqual(bells.map(([tenant_id, id]) => ({ tenant_id, id })));
  expect(
    await rows(
      await sqlAdmin(sql),
      "select tenant_id, lease_until > now() + interval '30 s' as extended from doorbell.jobs order by 1",
    ),
  ).toEqual([
    { tenant_id: "acme", extended: false },
    { tenant_id: "globex", extended: true },
    { tenant_id: "initech", extended: true },
  ]);
  await other.query("commit");
  expect(await rows(client, extend, [bells.map(([tenant]) => tenant), bells.map(([, id]) => id)])).toEqual(
    bells.slice(1).map(([tenant_id, id]) => ({ tenant_id, id })),
  );
});

test("a doorbell that names another tenant's job, or none, claims nothing and harms nothing", async () => {
  await using sql = await Sql.open();
  const client = await sql.connect();
  const id = await enqueue(client, "acme");
  for (const tenant of ["globex", "", "*", "a'b\"%;--", "🙂", "x".repeat(10_000)])
    expect(await claim(client, "w", [[tenant, id]])).toEqual([]);
  expect(await claim(client, "w", [["acme", crypto.randomUUID()]])).toEqual([]);
  expect(await rows(await sqlAdmin(sql), "select attempts from doorbell.jobs")).toEqual([{ attempts: 0 }]);
  expect(await claim(client, "w", [["acme", id]])).toHaveLength(1);
});

test("a kind that the worker does not know waits, loses no attempt, and is taken by the first worker that knows it", async () => {
  await using sql = await Sql.open();
  const client = await sql.connect();
  const id = await enqueue(client, "acme", "unknown");
  const tick = "select what, id, attempt from doorbell.tick('w', $1, 10, array['default'])";
  expect(await rows(client, tick, [["work"]])).toEqual([{ what: "unhandled", id: null, attempt: 1 }]);
  expect(await rows(client, tick, [["work"]])).toEqual([]);
  expect(await rows(client, "select rung, expired from doorbell.sweep('', 1000, '0 s')")).toEqual([
    { rung: 0, expired: 0 },
  ]);
  expect(await rows(client, "select kind, due, workers from doorbell.stats()")).toEqual([
    { kind: "unknown", due: "1", workers: "0" },
  ]);
  expect(await rows(client, tick, [["unknown"]])).toEqual([{ what: "claimed", id, attempt: 1 }]);
});

test("a job that becomes due between the start of a claim's transaction and the claim is claimed", async () => {
  await using sql = await Sql.open();
  const [early, late] = [await sql.connect(), await sql.connect(sql.db.webUrl)];
  await early.query("begin");
  await early.query("select now()");
  const id = await enqueue(late, "acme");
  expect(await claim(early, "w", [["acme", id]])).toHaveLength(1);
  await early.query("commit");
});

test("the moving clamp claims for many tenants at once, whatever the statistics say", async () => {
  await using sql = await Sql.open();
  const client = await sql.connect();
  const superuser = await sqlAdmin(sql);
  for (const [size, prepare] of [
    [3, ""],
    [3, "analyze doorbell.jobs"],
    [31, "analyze doorbell.jobs"],
    [3_000, "analyze doorbell.jobs"],
    [5, "vacuum analyze doorbell.jobs"],
  ] as const) {
    const jobs = Array.from({ length: size }, (_, n) => ({ tenant: `t${n}`, kind: "work" }));
    await client.query("select count(*) from doorbell.enqueue_many($1)", [JSON.stringify(jobs)]);
    if (prepare !== "") await superuser.query(prepare);
    const fresh = await sql.connect(); // a new session has no plan yet
    const claimed = (
      await rows<Claimed>(fresh, "select * from doorbell.tick('w', array['work'], 5000, array['default'])")
    ).filter((row) => row.what === "claimed");
    expect(claimed).toHaveLength(size);
    expect(
      await settle(
        fresh,
        "w",
        claimed.map((row) => ({ tenant: row.tenant_id, id: row.id, attempt: 1 })),
      ),
    ).toHaveLength(size);
  }
  expect(await rows(client, "select doorbell.canary()")).toEqual([{ canary: true }]);
});

test("what is refused at the door: sizes, tenants, lanes, priorities", async () => {
  await using sql = await Sql.open();
  const client = await sql.connect();
  const states: (string | null)[] = [];
  for (const statement of [
    "select doorbell.enqueue('acme', 'k', jsonb_build_object('x', repeat('x', 65000)))",
    "select doorbell.enqueue('acme', 'k', jsonb_build_object('x', repeat('x', 66000)))",
    "select doorbell.enqueue(repeat('x', 200), 'k')",
    "select doorbell.enqueue(repeat('x', 201), 'k')",
    "select doorbell.enqueue('', 'k')",
    "select doorbell.enqueue(null, 'k')",
    "select doorbell.enqueue('*', 'k')",
    "select doorbell.enqueue('acme', '')",
    "select doorbell.enqueue('acme', 'k', lane => 'nowhere')",
    "select doorbell.enqueue('acme', 'k', priority => 9)",
    "select doorbell.enqueue('acme', 'k', max_attempts => 0)",
  ]) {
    states.push(await sqlStateOf(client, statement));
  }
  expect(states).toEqual([null, "54000", null, "22023", "42501", "42501", "22023", "22023", "22023", "22023", "22023"]);
});
