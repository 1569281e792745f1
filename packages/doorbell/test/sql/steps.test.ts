// Steps by their functions: fences, and the races between waiting and what is waited for. No sweep helps, unless it is called.
import type pg from "pg";
import { expect, test } from "vitest";
import { claim, enqueue, rows, Sql, settle, sqlStateOf } from "./support.ts";

interface Waited extends Record<string, unknown> {
  readonly verdict: string;
  readonly value: unknown;
  readonly due_ms: string | null;
}

interface Attempt {
  readonly worker: string;
  readonly tenant: string;
  readonly id: string;
  readonly attempt: number;
}

const wait = async (
  client: pg.Client,
  { worker, tenant, id, attempt }: Attempt,
  key: string,
  event: string | null,
  ms: number | null = null,
): Promise<Waited> =>
  (
    await rows<Waited>(client, "select * from doorbell.wait_for($1, $2, $3, $4, $5, $6, $7)", [
      worker,
      tenant,
      id,
      attempt,
      key,
      event,
      ms,
    ])
  )[0] as Waited;

const spawn = async (client: pg.Client, { worker, tenant, id, attempt }: Attempt, count: number): Promise<string[]> =>
  (
    await rows<{ verdict: string }>(client, "select verdict from doorbell.spawn($1, $2, $3, $4, 'c', $5, $6)", [
      worker,
      tenant,
      id,
      attempt,
      Array.from({ length: count }, (_, n) => String(n + 1)),
      JSON.stringify(Array.from({ length: count }, () => ({ kind: "work" }))),
    ])
  ).map((row) => row.verdict);

const keep = (client: pg.Client, { worker, tenant, id, attempt }: Attempt, key: string) =>
  rows(
    client,
    "select * from doorbell.keep_steps($1, array[$2], array[$3::uuid], array[$4::int], array[$5], array['1'::jsonb])",
    [worker, tenant, id, attempt, key],
  );

const emit = (client: pg.Client, tenant: string, event: string, payload: unknown = null) =>
  rows<{ woken: number; lanes: string[] }>(client, "select * from doorbell.emit($1, $2, $3)", [
    tenant,
    event,
    JSON.stringify(payload),
  ]);

/** Claims a job anew, as the next attempt. */
async function begin(client: pg.Client, tenant: string, id: string, worker = "w"): Promise<Attempt> {
  const [claimed] = await claim(client, worker, [[tenant, id]]);
  if (claimed === undefined) throw new Error(`job ${id} was not there for the taking`);
  return { worker, tenant, id, attempt: claimed.attempt };
}

const stateOf = async (admin: pg.Client, id: string) =>
  (await rows<{ state: string }>(admin, "select state from doorbell.all_jobs where id = $1", [id]))[0]?.state;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test("what a lost attempt asks for is refused, and leaves nothing", async () => {
  await using sql = await Sql.open();
  const client = await sql.connect();
  const admin = await sql.connect(sql.db.adminUrl);
  const id = await enqueue(client, "acme");
  const late = await begin(client, "acme", id, "frozen");
  await admin.query("update doorbell.jobs set lease_until = now() - interval '1 s'");
  await client.query("select doorbell.sweep()");
  await begin(client, "acme", id, "other");

  expect(await keep(client, late, "k")).toEqual([]);
  expect(await wait(client, late, "nap", null, 1_000)).toMatchObject({ verdict: "lost" });
  expect(await wait(client, late, "wait", "event")).toMatchObject({ verdict: "lost" });
  expect(await spawn(client, late, 3)).toEqual(["lost"]);
  expect(await rows(admin, "select key from doorbell.steps union all select key from doorbell.children")).toEqual([]);
  expect(await rows(admin, "select state, attempts, claimed_by from doorbell.all_jobs")).toEqual([
    { state: "claimed", attempts: 2, claimed_by: "other" },
  ]);
});

test("an event and a wait that come at the same time find each other, whichever is first", async () => {
  await using sql = await Sql.open();
  const [waiter, emitter, admin] = await Promise.all([sql.connect(), sql.connect(), sql.connect(sql.db.adminUrl)]);
  const seen = { over: 0, woken: 0, again: 0 };
  for (let round = 0; round < 400; round += 1) {
    const id = await enqueue(waiter, "acme");
    const attempt = await begin(waiter, "acme", id);
    const event = `e${round}`;
    const isSlow = round % 20 === 1;
    const emitting = (async () => {
      await pause(isSlow ? 0 : (round * 7) % 4);
      if (round % 2 === 0) return await emit(emitter, "acme", event, round);
      // A transaction of the application's, that stays open for a while.
      await emitter.query("begin");
      await emit(emitter, "acme", event, round);
      if (isSlow) await pause(150);
      return await emitter.query("commit");
    })();
    const waiting = pause(isSlow ? 15 : round % 3).then(() => wait(waiter, attempt, "k", event));
    const [answer] = await Promise.all([waiting, emitting]);
    if (answer.verdict === "over") {
      seen.over += 1;
      expect(answer.value).toBe(round);
      continue;
    }
    // It waits, or waited: then it is in the line again by now, or comes back by itself.
    expect(answer.verdict).toBe("waiting");
    if (answer.due_ms === null) seen.woken += 1;
    else seen.again += 1;
    const [row] = await rows<{ state: string; bells: number }>(
      admin,
      "select j.state, (select count(*)::int from doorbell.doorbells b where b.job_id = j.id) as bells from doorbell.jobs j where j.id = $1",
      [id],
    );
    expect(row?.state).toBe("queued");
    expect(row?.bells).toBeGreaterThanOrEqual(1);
    await pause(Number(answer.due_ms ?? 0) + 5);
    expect(await wait(waiter, await begin(waiter, "acme", id), "k", event)).toMatchObject({
      verdict: "over",
      value: round,
    });
  }
  expect(seen.over).toBeGreaterThan(0);
  expect(seen.woken).toBeGreaterThan(0);
  expect(seen.again).toBeGreaterThan(0);
}, 120_000);

test("whoever waits does not wait for an emitter's transaction: the job comes back after a moment, and later each time", async () => {
  await using sql = await Sql.open();
  const [waiter, emitter] = await Promise.all([sql.connect(), sql.connect()]);
  const id = await enqueue(waiter, "acme");
  await emitter.query("begin");
  await emit(emitter, "acme", "slow", "at last");
  const first = await wait(waiter, await begin(waiter, "acme", id), "k", "slow");
  expect(first.verdict).toBe("waiting");
  expect(Number(first.due_ms)).toBeLessThan(200);
  await pause(800);
  const second = await wait(waiter, await begin(waiter, "acme", id), "k", "slow");
  expect(second.verdict).toBe("waiting");
  expect(Number(second.due_ms)).toBeGreaterThan(300);
  await emitter.query("commit");
  await pause(Number(second.due_ms) + 5);
  expect(await wait(waiter, await begin(waiter, "acme", id), "k", "slow")).toMatchObject({
    verdict: "over",
    value: "at last",
  });
});

test("children that settle while their parent goes to wait again wake it, and of two that settle at once one does", async () => {
  await using sql = await Sql.open();
  const [parent, one, two, admin] = await Promise.all([
    sql.connect(),
    sql.connect(),
    sql.connect(),
    sql.connect(sql.db.adminUrl),
  ]);
  const finish = async (client: pg.Client, child: Attempt) => {
    await settle(client, child.worker, [child]);
    await client.query("select doorbell.wake_parents(array[$1], array[$2::uuid])", [child.tenant, child.id]);
  };
  let again = 0;
  for (let round = 0; round < 200; round += 1) {
    const id = await enqueue(parent, "acme");
    const first = await begin(parent, "acme", id);
    expect(await spawn(parent, first, 2)).toEqual(["waiting"]);
    const children = await rows<{ child_id: string }>(
      admin,
      "select child_id from doorbell.children where parent_id = $1",
      [id],
    );
    const [a, b] = await Promise.all(
      children.map((row, index) => begin(index === 0 ? one : two, "acme", row.child_id, `w${index}`)),
    );
    if (a === undefined || b === undefined) throw new Error("two children were to be claimed");
    if (round % 2 === 0) {
      await Promise.all([finish(one, a), finish(two, b)]);
    } else {
      // Woken for nothing, it goes to wait again just now.
      await finish(one, a);
      await admin.query("update doorbell.jobs set state = 'queued' where id = $1", [id]);
      const second = await begin(parent, "acme", id);
      const [verdicts] = await Promise.all([spawn(parent, second, 2), pause(round % 3).then(() => finish(two, b))]);
      if (verdicts[0] === "over") {
        await settle(parent, second.worker, [second]);
        continue;
      }
      again += 1;
    }
    expect(await stateOf(admin, id)).toBe("queued");
    expect(await spawn(parent, await begin(parent, "acme", id), 2)).toEqual(["over", "over"]);
  }
  expect(again).toBeGreaterThan(0);
}, 120_000);

test("the sweep wakes what nobody woke: an event, children, a patience that is over; and nothing else", async () => {
  await using sql = await Sql.open();
  const client = await sql.connect();
  const admin = await sql.connect(sql.db.adminUrl);
  const waiting = async (go: (attempt: Attempt) => Promise<unknown>, tenant = "acme") => {
    const id = await enqueue(client, tenant);
    await go(await begin(client, tenant, id));
    expect(await stateOf(admin, id)).toBe("waiting");
    return id;
  };
  const event = await waiting((attempt) => wait(client, attempt, "k", "lost event"));
  const other = await waiting((attempt) => wait(client, attempt, "k", "lost event"), "other");
  const timed = await waiting((attempt) => wait(client, attempt, "k", "never", 2_000));
  const patient = await waiting((attempt) => wait(client, attempt, "k", "never", 60_000));
  const parent = await waiting((attempt) => spawn(client, attempt, 1));
  const busy = await waiting((attempt) => spawn(client, attempt, 1));
  await client.query("select doorbell.sweep()");
  for (const id of [event, other, timed, patient, parent, busy]) expect(await stateOf(admin, id)).toBe("waiting");

  await admin.query(
    "insert into doorbell.events (tenant_id, event, id, payload) values ('acme', 'lost event', gen_random_uuid(), '7')",
  );
  const [child] = await rows<{ child_id: string }>(
    admin,
    "select child_id from doorbell.children where parent_id = $1",
    [parent],
  );
  await settle(client, "w", [await begin(client, "acme", child?.child_id ?? "")]);
  await pause(2_010);
  expect(await rows(client, "select rung from doorbell.sweep()")).toEqual([{ rung: 3 }]);
  for (const id of [event, timed, parent]) expect(await stateOf(admin, id)).toBe("queued");
  for (const id of [other, patient, busy]) expect(await stateOf(admin, id)).toBe("waiting");
  expect(await wait(client, await begin(client, "acme", timed), "k", "never", 2_000)).toMatchObject({
    verdict: "timeout",
  });
  expect(await wait(client, await begin(client, "acme", event), "k", "lost event")).toMatchObject({ value: 7 });
});

test("a child that is lost for the last time wakes its parent in the same sweep", async () => {
  await using sql = await Sql.open();
  const client = await sql.connect();
  const admin = await sql.connect(sql.db.adminUrl);
  const id = await enqueue(client, "acme");
  await spawn(client, await begin(client, "acme", id), 1);
  await admin.query("update doorbell.jobs set max_attempts = 1 where id <> $1", [id]);
  const [child] = await rows<{ id: string }>(admin, "select id from doorbell.jobs where id <> $1", [id]);
  await begin(client, "acme", child?.id ?? "", "dies");
  await admin.query("update doorbell.jobs set lease_until = now() - interval '1 s' where id <> $1", [id]);
  expect(await rows(client, "select dead, rung from doorbell.sweep()")).toEqual([{ dead: 1, rung: 1 }]);
  expect(
    await rows(
      client,
      "select verdict, state, error_code from doorbell.spawn('w', 'acme', $1, 2, 'c', '{1}', '[{\"kind\":\"work\"}]')",
      [(await begin(client, "acme", id)).id],
    ),
  ).toEqual([{ verdict: "over", state: "failed", error_code: "lease_lost" }]);
});

test("a wait gives the attempt back up to the cap, and no further", async () => {
  await using sql = await Sql.open();
  const client = await sql.connect();
  const admin = await sql.connect(sql.db.adminUrl);
  const id = await enqueue(client, "acme");
  await admin.query("update doorbell.jobs set attempts = 9998, max_attempts = 9999");
  expect(await wait(client, await begin(client, "acme", id), "a", null, 60_000)).toMatchObject({ verdict: "waiting" });
  expect(await rows(admin, "select attempts, max_attempts from doorbell.jobs")).toEqual([
    { attempts: 9999, max_attempts: 10000 },
  ]);
  await admin.query("update doorbell.jobs set run_after = now() - interval '1 s'");
  expect(await wait(client, await begin(client, "acme", id), "a", null, 60_000)).toMatchObject({ verdict: "spent" });
  expect(await stateOf(admin, id)).toBe("claimed");
});

test("retention takes steps and children with their job, and events when no job may wait for them any more", async () => {
  await using sql = await Sql.open();
  const client = await sql.connect();
  const admin = await sql.connect(sql.db.adminUrl);
  const id = await enqueue(client, "acme");
  const attempt = await begin(client, "acme", id);
  await keep(client, attempt, "k");
  await spawn(client, attempt, 1);
  const [child] = await rows<{ id: string }>(admin, "select id from doorbell.jobs where id <> $1", [id]);
  await settle(client, "w", [await begin(client, "acme", child?.id ?? "")]);
  await emit(client, "acme", "old");
  await client.query("select doorbell.sweep()");
  await settle(client, "w", [await begin(client, "acme", id)]);
  const open = await enqueue(client, "acme");
  await admin.query("update doorbell.job_history set finished_at = now() - interval '60 days'");
  await admin.query("update doorbell.events set at = now() - interval '50 days'");
  await admin.query("update doorbell.jobs set created_at = now() - interval '55 days'");
  const left = () =>
    rows(
      admin,
      `select (select count(*)::int from doorbell.steps) as steps, (select count(*)::int from doorbell.children) as children,
              (select count(*)::int from doorbell.events) as events`,
    );
  expect(await left()).toEqual([{ steps: 2, children: 1, events: 1 }]);
  await client.query("select doorbell.retire()");
  expect(await left()).toEqual([{ steps: 0, children: 0, events: 1 }]); // the open job is older than the event
  await client.query("select doorbell.cancel('acme', $1)", [open]);
  await client.query("select doorbell.retire()");
  expect(await left()).toEqual([{ steps: 0, children: 0, events: 0 }]);
});

test("events are told by whoever may enqueue, from SQL too; what is no event, or too large, is refused", async () => {
  await using sql = await Sql.open();
  const client = await sql.connect();
  const id = await enqueue(client, "acme");
  await wait(client, await begin(client, "acme", id), "k", "paid");
  expect(await emit(client, "acme", "paid", { cents: 1 })).toEqual([{ woken: 1, lanes: ["default"] }]);
  expect(await sqlStateOf(client, "select doorbell.emit('acme', '')")).toBe("22023");
  expect(await sqlStateOf(client, "select doorbell.emit('', 'paid')")).toBe("42501");
  expect(await sqlStateOf(client, "select doorbell.emit('acme', 'paid', to_jsonb(repeat('x', 70000)))")).toBe("54000");
  await client.query("begin");
  await client.query("select set_config('doorbell.tenant_id', 'acme', true)");
  expect(await sqlStateOf(client, "select doorbell.emit('other', 'paid')")).toBe("42501");
  await client.query("rollback");
});
