// Durable steps, with the whole system: values computed once in a run, and waits that hold nothing.
import { expect, test } from "vitest";
import { ChildFailed, type Doorbell, defineJob, fixed, handle, PermanentError } from "../src/index.ts";
import { Child } from "./child.ts";
import { eventually, Stage, signal } from "./support.ts";

const kind = (name: string, maxAttempts = 3) =>
  defineJob({ kind: name, retry: { maxAttempts, backoff: fixed({ base: "20ms", jitter: 0 }) } });

interface Row {
  readonly state: string;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly result: unknown;
  readonly error_code: string | null;
  readonly claimed_by: string | null;
}

const look = async (stage: Stage, id: string) =>
  (
    await stage.db.query<Row>(
      "select state, attempts, max_attempts, result, error_code, claimed_by from doorbell.all_jobs where id = $1",
      [id],
    )
  )[0];
const reaches = (stage: Stage, id: string, state: string, withinMs?: number) =>
  eventually(
    `job ${id} to be ${state}`,
    async () => {
      const row = await look(stage, id);
      return row?.state === state && row;
    },
    withinMs,
  );
const attemptsOf = async (stage: Stage, id: string) =>
  (
    await stage.db.query<{ outcome: string }>(
      "select outcome from doorbell.attempts where job_id = $1 order by attempt",
      [id],
    )
  ).map((row) => row.outcome);
const replay = async (stage: Stage, id: string) =>
  expect(await stage.db.query("select answer from doorbell.replay('acme', array[$1::uuid])", [id])).toEqual([
    { answer: "replayed" },
  ]);

test("a step is computed once in a run, several at once as well, and anew in a replay", async () => {
  await using stage = await Stage.open();
  const client = await stage.client();
  const calls: string[] = [];
  const work = kind("work");
  await stage.worker(client, [
    handle(work, async (job) => {
      const many = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          job.step(`n${n}`, () => {
            calls.push(`n${n}`);
            return { n, list: [n, null] };
          }),
        ),
      );
      const nothing = await job.step("nothing", () => void calls.push("nothing"));
      if (job.attempt === 1) throw new Error("after the steps");
      return { many: many.length, last: many.at(-1), nothing, attempt: job.attempt };
    }),
  ]);
  const { id } = await client.enqueue(work, {}, { tenant: "acme" });
  const done = await reaches(stage, id, "done");
  const last = { n: 19, list: [19, null] };
  expect(done.result).toEqual({ many: 20, last, nothing: null, attempt: 2 });
  expect(calls).toHaveLength(21);
  await replay(stage, id);
  await eventually("the replay to be done", async () => (await look(stage, id))?.attempts === 3);
  await reaches(stage, id, "done");
  expect(calls).toHaveLength(42);
});

test("a key that is used twice in an attempt is refused, as is one that was something else before", async () => {
  await using stage = await Stage.open();
  const client = await stage.client();
  const twice = kind("twice");
  const other = kind("other");
  await stage.worker(client, [
    handle(twice, async (job) => {
      await job.step("one", () => 1);
      await job.sleep("one", 0);
    }),
    handle(other, async (job) => {
      if (job.attempt > 1) await job.sleep("one", 0);
      await job.step("one", () => 1);
      throw new Error("again");
    }),
  ]);
  const ids = await Promise.all([twice, other].map((job) => client.enqueue(job, {}, { tenant: "acme" })));
  for (const { id } of ids) expect(await reaches(stage, id, "failed")).toMatchObject({ error_code: "step_conflict" });
});

test("a job that sleeps holds nothing and loses no attempt, and goes on where it was", async () => {
  await using stage = await Stage.open();
  const client = await stage.client();
  const steps: string[] = [];
  const begun: number[] = [];
  const nap = kind("nap", 1);
  const worker = await stage.worker(client, [
    handle(nap, async (job) => {
      begun.push(Date.now());
      for (const n of [1, 2, 3]) {
        await job.step(`step ${n}`, () => void steps.push(`step ${n}`));
        await job.effect(`effect ${n}`, { do: () => void steps.push(`effect ${n}`) });
        await job.sleep(`nap ${n}`, "300ms");
      }
      return "rested";
    }),
  ]);
  const { id } = await client.enqueue(nap, {}, { tenant: "acme" });
  await eventually("its first sleep", async () => (await attemptsOf(stage, id)).length === 1);
  expect(await look(stage, id)).toMatchObject({ state: "queued", attempts: 1, max_attempts: 2, claimed_by: null });
  expect(worker.running).toBe(0);
  expect(await reaches(stage, id, "done")).toMatchObject({ attempts: 4, max_attempts: 4, result: "rested" });
  expect(steps).toEqual([1, 2, 3].flatMap((n) => [`step ${n}`, `effect ${n}`]));
  for (const [n, at] of begun.slice(1).entries()) expect(at - (begun[n] as number)).toBeGreaterThanOrEqual(295);
  expect(await attemptsOf(stage, id)).toEqual(["snooze", "snooze", "snooze"]);
});

test("an event that came before the wait counts, if the job was there; one that comes later wakes it at once; none in time is null", async () => {
  await using stage = await Stage.open();
  const client = await stage.client();
  const order = kind("order", 1);
  const patient = kind("patient", 1);
  const go = signal();
  await client.emit("acme", "paid", "too early");
  await stage.worker(
    client,
    [
      handle(order, async (job) => {
        await go.promise;
        const first = await job.waitFor("paid", { timeout: "1h" });
        const second = await job.waitFor("paid", { key: "paid again" });
        return [first?.payload, second?.payload, first?.emittedAt instanceof Date];
      }),
      handle(patient, async (job) => (await job.waitFor("never", { timeout: "200ms" })) ?? "nobody came"),
    ],
    { sweepEvery: "1s" },
  );
  const { id } = await client.enqueue(order, {}, { tenant: "acme" });
  expect(await client.emit("acme", "paid", { cents: 100 })).toBe(0);
  expect(await client.emit("other", "paid", "another tenant's")).toBe(0);
  go.resolve();
  await reaches(stage, id, "waiting");
  expect(await client.emit("other", "paid", "another tenant's")).toBe(0);
  const emittedAt = Date.now();
  expect(await client.transaction("acme", (tx) => client.emit("acme", "paid", { cents: 200 }, { tx }))).toBe(1);
  expect(await reaches(stage, id, "done")).toMatchObject({ result: [{ cents: 100 }, { cents: 200 }, true] });
  expect(Date.now() - emittedAt).toBeLessThan(900); // no sweep, no poll

  const late = await client.enqueue(patient, {}, { tenant: "acme" });
  expect(await reaches(stage, late.id, "done")).toMatchObject({ result: "nobody came", attempts: 2, max_attempts: 2 });
});

test("an event in a transaction that is rolled back never was, and nothing in a clamp on another tenant is emitted", async () => {
  await using stage = await Stage.open();
  const client = await stage.client();
  const order = kind("order", 1);
  await stage.worker(client, [handle(order, async (job) => (await job.waitFor("paid"))?.payload)]);
  const { id } = await client.enqueue(order, {}, { tenant: "acme" });
  await reaches(stage, id, "waiting");
  await expect(
    client.transaction("acme", async (tx) => {
      expect(await client.emit("acme", "paid", "rolled back", { tx })).toBe(1);
      throw new Error("no");
    }),
  ).rejects.toThrow("no");
  await client.transaction("other", async (tx) => {
    await expect(client.emit("acme", "paid", "other", { tx })).rejects.toMatchObject({ code: "tenant_mismatch" });
  });
  expect(await look(stage, id)).toMatchObject({ state: "waiting" });
  await client.emit("acme", "paid", "really");
  expect(await reaches(stage, id, "done")).toMatchObject({ result: "really" });
});

test("two hundred jobs wait while others run in two slots; one event wakes them all, of its tenant alone", async () => {
  await using stage = await Stage.open();
  const client = await stage.client();
  const waiter = kind("waiter", 1);
  const quick = kind("quick");
  const worker = await stage.worker(
    client,
    [handle(waiter, async (job) => (await job.waitFor("go"))?.payload), handle(quick, () => "ran")],
    { concurrency: 2 },
  );
  const enqueueAll = (job: typeof waiter, tenant: string, count: number) =>
    client.enqueueMany(Array.from({ length: count }, () => ({ job, tenant })));
  const count = async (state: string, of: typeof waiter, tenant: string) =>
    (
      await stage.db.query<{ n: number }>(
        "select count(*)::int as n from doorbell.all_jobs where state = $1 and kind = $2 and tenant_id = $3",
        [state, of.kind, tenant],
      )
    )[0]?.n;
  await enqueueAll(waiter, "acme", 190);
  await enqueueAll(waiter, "other", 10);
  await eventually("all to wait", async () => (await count("waiting", waiter, "acme")) === 190, 20_000);
  await eventually("the others to wait", async () => (await count("waiting", waiter, "other")) === 10);
  expect(worker.running).toBe(0);
  expect(await stage.db.query("select count(*)::int as n from doorbell.jobs where lease_until is not null")).toEqual([
    { n: 0 },
  ]);
  await enqueueAll(quick, "acme", 50);
  await eventually("the others to run", async () => (await count("done", quick, "acme")) === 50);
  expect(await client.emit("acme", "go", "went")).toBe(190);
  await eventually("all to be done", async () => (await count("done", waiter, "acme")) === 190, 20_000);
  expect(await count("waiting", waiter, "other")).toBe(10);
  expect(
    await stage.db.query("select distinct result, attempts from doorbell.job_history where kind = 'waiter'"),
  ).toEqual([{ result: "went", attempts: 2 }]);
});

test("a thousand children are enqueued once, and their results come back in order", async () => {
  await using stage = await Stage.open();
  const client = await stage.client();
  const parent = kind("parent", 1);
  const child = kind("child");
  let handled = 0;
  await stage.worker(
    client,
    [
      handle(parent, async (job) => {
        const before = await job.step("numbers", () => Array.from({ length: 1_000 }, (_, n) => n));
        const results = await job.spawnAll(before.map((n) => ({ job: child, payload: { n } })));
        const single = await job.spawn(child, { n: 5 });
        return { inOrder: results.every((result, n) => result === n * 2), count: results.length, single };
      }),
      handle(child, (job) => {
        handled += 1;
        return (job.payload as { n: number }).n * 2;
      }),
    ],
    { concurrency: 50, sweepEvery: "1h" },
  );
  const { id } = await client.enqueue(parent, {}, { tenant: "acme" });
  const done = await reaches(stage, id, "done", 30_000);
  expect(done).toMatchObject({ result: { inOrder: true, count: 1_000, single: 10 }, attempts: 3 });
  expect(handled).toBe(1_001);

  // A replay asks for the same children, and runs none again.
  await replay(stage, id);
  await eventually("the replay to be done", async () => (await look(stage, id))?.attempts === 4);
  expect(await reaches(stage, id, "done")).toMatchObject({ result: { inOrder: true, count: 1_000, single: 10 } });
  expect(handled).toBe(1_001);
});

test("a child that fails is thrown at its parent or told to it; one that is replayed meanwhile counts as it ends", async () => {
  await using stage = await Stage.open();
  const client = await stage.client();
  const strict = kind("strict");
  const lenient = kind("lenient");
  const child = kind("child");
  const hold = signal();
  let mended = false;
  const children = [
    { job: child, payload: { as: "good" }, name: "good" },
    { job: child, payload: { as: "bad" }, name: "bad" },
    { job: child, payload: { as: "held" }, name: "held" },
  ];
  const thrown: unknown[] = [];
  await stage.worker(client, [
    handle(strict, async (job) => {
      try {
        return await job.spawnAll(children);
      } catch (error) {
        if (ChildFailed.isInstance(error)) thrown.push(error.children);
        throw error;
      }
    }),
    handle(lenient, (job) => job.spawnAll(children, { onChildFailure: "collect" })),
    handle(child, async (job) => {
      const { as } = job.payload as { as: string };
      if (as === "bad" && !mended) throw new PermanentError("broken", "this one is broken");
      if (as === "held") await hold.promise;
      return as;
    }),
  ]);
  const enqueued = await Promise.all([strict, lenient].map((job) => client.enqueue(job, {}, { tenant: "acme" })));
  const ids = enqueued.map(({ id }) => id);
  const dead = await eventually("both children to fail", async () => {
    const rows = await stage.db.query<{ id: string; parent_id: string }>(
      "select d.id, c.parent_id from doorbell.dead_letters d join doorbell.children c on c.child_id = d.id",
    );
    return rows.length === 2 && rows;
  });
  for (const id of ids) expect(await look(stage, id)).toMatchObject({ state: "waiting" });
  // The lenient parent's child is mended while its sibling keeps the parent waiting.
  mended = true;
  const lenientChild = dead.find((row) => row.parent_id === ids[1])?.id as string;
  await replay(stage, lenientChild);
  await reaches(stage, lenientChild, "done");
  hold.resolve();
  const failed = await reaches(stage, ids[0] as string, "failed");
  expect(failed).toMatchObject({ error_code: "child_failed" });
  const strictChild = dead.find((row) => row.parent_id === ids[0])?.id as string;
  expect(thrown).toEqual([
    [
      {
        id: strictChild,
        kind: "child",
        state: "failed",
        error: expect.stringContaining("this one is broken"),
        errorCode: "broken",
      },
    ],
  ]);
  const told = (await reaches(stage, ids[1] as string, "done")).result as { state: string; result: unknown }[];
  expect(told.map(({ state, result }) => [state, result])).toEqual([
    ["done", "good"],
    ["done", "bad"],
    ["done", "held"],
  ]);
  // The way out for the other: the child first, then its parent.
  await replay(stage, strictChild);
  await reaches(stage, strictChild, "done");
  await replay(stage, ids[0] as string);
  expect(await reaches(stage, ids[0] as string, "done")).toMatchObject({ result: ["good", "bad", "held"] });
});

test("a child that is cancelled wakes its parent; children of a parent that is cancelled stay", async () => {
  await using stage = await Stage.open();
  const client = await stage.client();
  const parent = kind("parent");
  const child = kind("child"); // handled by nobody
  await stage.worker(client, [
    handle(parent, (job) => job.spawn(child, {}, { onChildFailure: "collect", runAfter: "1h" })),
  ]);
  const [one, two] = await Promise.all([1, 2].map(() => client.enqueue(parent, {}, { tenant: "acme" })));
  const childOf = async (id: string | undefined) =>
    (await stage.db.query<{ id: string }>("select child_id as id from doorbell.children where parent_id = $1", [id]))[0]
      ?.id as string;
  for (const receipt of [one, two]) await reaches(stage, receipt?.id ?? "", "waiting");
  const cancel = (id: string) =>
    stage.db.query("select doorbell.cancel('acme', $1, 'no longer wanted') as answer", [id]);
  await cancel(await childOf(one?.id));
  expect(await reaches(stage, one?.id ?? "", "done")).toMatchObject({
    result: { state: "cancelled", error: "no longer wanted", kind: "child" },
  });
  await cancel(two?.id ?? "");
  expect(await look(stage, await childOf(two?.id))).toMatchObject({ state: "queued" });
});

test("two tenants with the same job ids, keys and events have nothing to do with each other", async () => {
  await using stage = await Stage.open();
  const client = await stage.client();
  const work = kind("work", 1);
  const child = kind("child");
  await stage.worker(client, [
    handle(work, async (job) => {
      const value = await job.step("key", () => `step of ${job.tenant}`);
      const grown = await job.spawn(child, {});
      const came = await job.waitFor("event");
      return [value, grown, came?.payload];
    }),
    handle(child, (job) => `child of ${job.tenant}`),
  ]);
  const id = crypto.randomUUID();
  await Promise.all(["acme", "other"].map((tenant) => client.enqueue(work, {}, { tenant, id })));
  const states = async () =>
    await stage.db.query<{ tenant_id: string; state: string; result: unknown }>(
      "select tenant_id, state, result from doorbell.all_jobs where id = $1 order by 1",
      [id],
    );
  await eventually("both to wait for the event", async () => {
    const open = await stage.db.query("select from doorbell.steps where type = 'event'");
    return open.length === 2 && (await states()).every((row) => row.state === "waiting");
  });
  expect(await client.emit("other", "event", "for other")).toBe(1);
  await eventually("one to be done", async () => (await states())[1]?.state === "done");
  expect((await states())[0]?.state).toBe("waiting");
  await client.emit("acme", "event", "for acme");
  await eventually("both to be done", async () => (await states()).every((row) => row.state === "done"));
  expect((await states()).map((row) => row.result)).toEqual([
    ["step of acme", "child of acme", "for acme"],
    ["step of other", "child of other", "for other"],
  ]);
});

test("a handler that swallows the end of its attempt has no effect any more", async () => {
  await using stage = await Stage.open();
  const client = await stage.client();
  const stubborn = kind("stubborn", 1);
  const calls: string[] = [];
  await stage.worker(client, [
    handle(stubborn, async (job) => {
      const swallowed = await job.sleep("nap", "200ms").then(
        () => false,
        () => true,
      );
      if (swallowed) {
        await job.effect("call", { do: () => void calls.push("never") }).catch(() => {});
        return "a result that nobody wants";
      }
      return "slept";
    }),
  ]);
  const { id } = await client.enqueue(stubborn, {}, { tenant: "acme" });
  expect(await reaches(stage, id, "done")).toMatchObject({ result: "slept", attempts: 2 });
  expect(calls).toEqual([]);
});

test("killed between its steps, a job goes on with what was stored, waits again and asks for the same children", async () => {
  await using stage = await Stage.open();
  const client: Doorbell = await stage.client();
  const env = { DATABASE_URL: stage.db.appUrl, LEASE: "1s" };
  await using first = await Child.start("worker-process.ts", { ...env, DIES_AFTER: "children" });
  const { id } = await client.enqueue(defineJob({ kind: "saga" }), {}, { tenant: "acme" });
  await first.hears("computed", (told) => told["step"] === "first");
  expect(await first.ended()).toBe("SIGKILL");
  await using second = await Child.start("worker-process.ts", env);
  await reaches(stage, id, "waiting", 15_000);
  await eventually(
    "it to wait for the event",
    async () => (await stage.db.query("select from doorbell.steps where event = 'go' and not done")).length === 1,
  );
  second.kill("SIGKILL");
  await second.ended();
  await client.emit("acme", "go", "gone");
  await using third = await Child.start("worker-process.ts", env);
  const done = await reaches(stage, id, "done", 15_000);
  expect(done.result).toEqual({ first: expect.any(Number), children: ["slept", "slept"], came: "gone" });
  const computed = [...first.told, ...second.told, ...third.told].filter((told) => told.what === "computed");
  expect(computed.map((told) => told["step"])).toEqual(["first"]);
  expect(await stage.db.query("select count(*)::int as n from doorbell.all_jobs")).toEqual([{ n: 3 }]);
});
