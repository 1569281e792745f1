// The run-twice harness: a good handler passes every cut, and each planted mistake is caught, with what to change.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDoorbell, createLog, defineJob, type Handler, handle, type Job } from "../src/index.ts";
import {
  createTestDatabase,
  RunTwiceFailed,
  type RunTwiceOptions,
  type RunTwiceReport,
  runTwice,
  sideEffect,
  type TestDatabase,
} from "../src/testing/index.ts";

const kind = defineJob({ kind: "checked" });
type AnyJob = Job<unknown>;

let database: TestDatabase;
let url: string;
const webhookIds: [tenant: string, id: string][] = [];
const server = createServer((request, response) => {
  request.resume().on("end", () => {
    const id = request.headers["webhook-id"];
    if (id !== undefined) webhookIds.push([request.url?.slice(1) ?? "", String(id)]);
    response.end("ok");
  });
});

beforeAll(async () => {
  database = await createTestDatabase();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await database.drop();
});

async function failuresOf(
  handler: Handler | (() => Handler),
  options: RunTwiceOptions = {},
): Promise<readonly string[]> {
  const report: RunTwiceReport = await runTwice(handler, { cents: 5 }, { database, ...options }).catch(
    (error: unknown) => {
      if (error instanceof RunTwiceFailed) return error.report;
      throw error;
    },
  );
  return report.failures;
}

test("a handler with an effect of its own, a webhook and usage passes every cut, also for two tenants with the same job id", async () => {
  const sent: string[] = [];
  const good = handle(kind, async (job: AnyJob) => {
    const at = await job.step("at", () => Date.now());
    const { receipt } = await job.effect("charge", {
      request: { at },
      do: ({ idempotencyKey }) => {
        sideEffect("charge");
        sent.push(`${job.tenant} ${idempotencyKey}`);
        return { receipt: 7 };
      },
    });
    await job.webhook({ url: `${url}/${job.tenant}`, event: "paid", data: {} });
    await job.usage("charges", 1);
    return { receipt, job: job.id };
  });
  const report = await runTwice(
    good,
    { cents: 5 },
    {
      database,
      worker: { allowPrivateWebhooks: true },
      received: (tenant) => webhookIds.filter(([of]) => of === tenant).map(([, id]) => id),
    },
  );
  expect(report.failures).toEqual([]);
  expect(report.cuts.map(({ at }) => at)).toEqual([
    "before_intent charge",
    "after_intent charge",
    "after_call charge",
    "before_outcome charge",
    "after_outcome charge",
    expect.stringMatching(/^before_intent webhook:paid/),
    expect.stringMatching(/^after_intent webhook:paid/),
    expect.stringMatching(/^after_call webhook:paid/),
    expect.stringMatching(/^before_outcome webhook:paid/),
    expect.stringMatching(/^after_outcome webhook:paid/),
    "before_intent usage:charges",
    "after_outcome usage:charges",
    "before_settle",
  ]);
  expect(report.cuts.every(({ state }) => state === "done")).toBe(true);
  // Two tenants each: asked for after the intent, and told that it had happened after the call.
  expect(report.cuts.map(({ answers }) => answers).slice(0, 5)).toEqual([
    [],
    ["charge: not_done", "charge: not_done"],
    ["charge: completed", "charge: completed"],
    ["charge: completed", "charge: completed"],
    [],
  ]);
  expect(report.cuts.map(({ repeats }) => repeats).slice(5, 10)).toEqual([0, 0, 2, 2, 0]);
  expect(new Set(sent).size).toBe(sent.length);
});

test("a handler that sleeps and asks its receiver passes", async () => {
  const taken = new Map<string, number>();
  const good = handle(kind, async (job: AnyJob) => {
    await job.sleep("a day", "1d");
    return await job.effect("charge", {
      do: ({ idempotencyKey }) => {
        taken.set(`${job.tenant} ${idempotencyKey}`, 7);
        return 7;
      },
      probe: ({ idempotencyKey }) => {
        const value = taken.get(`${job.tenant} ${idempotencyKey}`);
        return value === undefined ? { happened: false } : { happened: true, value };
      },
    });
  });
  const report = await runTwice(good, {}, { database });
  expect(report.cuts.flatMap(({ answers }) => answers)).toEqual([]);
  expect(report.cuts).toHaveLength(6);
});

test("an effect outside the ledger is caught: fetch, http, a raw connection, and what a test declares", async () => {
  const outside = (call: (job: AnyJob) => Promise<unknown> | unknown) =>
    failuresOf(handle(kind, async (job: AnyJob) => void (await call(job))));
  expect(await outside(() => fetch(url, { method: "POST", body: "x" }))).toEqual([
    expect.stringContaining(`effect outside the ledger: "POST ${url}"`),
  ]);
  expect(await outside(() => void sideEffect("charge the card"))).toEqual([
    expect.stringContaining('effect outside the ledger: "charge the card"'),
  ]);
  const raw = () =>
    new Promise<void>((resolve) => {
      const socket = connect(Number(new URL(url).port), "127.0.0.1", () => socket.end(resolve));
    });
  expect(await outside(raw)).toEqual([expect.stringContaining('"a network connection"')]);
  expect(await outside(() => fetch(url))).toEqual([]);
  expect(
    await outside((job) => job.effect("post", { do: async () => void (await fetch(url, { method: "POST" })) })),
  ).toEqual([]);
});

test("a random in a key is caught, and the number of the attempt in one", async () => {
  expect(
    await failuresOf(handle(kind, (job: AnyJob) => job.effect(`charge:${randomUUID()}`, { do: () => 1 }))),
  ).toEqual([expect.stringMatching(/^effect keys differ between two runs: "charge:.*Make keys of the payload/)]);
  expect(await failuresOf(handle(kind, (job: AnyJob) => job.effect(`charge:${job.attempt}`, { do: () => 1 })))).toEqual(
    [expect.stringMatching(/^effect keys differ between two runs: "charge:1" became "charge:2"/)],
  );
});

test("a result that is made of the process is caught: a counter, and what an earlier attempt left in memory", async () => {
  let count = 0;
  expect(await failuresOf(handle(kind, () => ({ count: ++count })))).toEqual([
    expect.stringMatching(/^result differs \(two undisturbed runs\): done .*state of the process/),
  ]);
  const remembering = (): Handler => {
    let token = "none";
    return handle(kind, async (job: AnyJob) => {
      await job.effect("login", {
        onDoubt: "retry",
        do: () => {
          token = "secret";
        },
      });
      return { token };
    });
  };
  expect(await failuresOf(remembering)).toEqual([
    expect.stringMatching(
      /^result differs \(the process died after outcome of "login"\): done {"token":"secret"} became done {"token":"none"}/,
    ),
  ]);
});

test("a request that changes between attempts is caught", async () => {
  const changing = handle(kind, (job: AnyJob) => job.effect("charge", { request: { at: randomUUID() }, do: () => 1 }));
  expect(await failuresOf(changing)).toEqual([
    expect.stringMatching(/^request of effect "charge" changes between two attempts/),
  ]);
});

test("probes that lie are caught: one doubles, one loses", async () => {
  const lying = (happened: boolean) =>
    handle(kind, (job: AnyJob) =>
      job.effect("charge", {
        do: () => 1,
        probe: () => (happened ? { happened: true, value: 1 } : { happened: false }),
      }),
    );
  expect(await failuresOf(lying(false))).toEqual([
    expect.stringMatching(
      /^effect "charge" is delivered 2 times when the process died after call of "charge": its probe said/,
    ),
  ]);
  expect(await failuresOf(lying(true))).toEqual([
    expect.stringMatching(/^effect "charge" is lost when the process died after intent of "charge": its probe said/),
  ]);
});

test("a cache that mixes up tenants is caught", async () => {
  const cache = new Map<string, unknown>();
  const mixing = handle(kind, async (job: AnyJob) => {
    if (!cache.has(job.id)) cache.set(job.id, job.payload);
    return cache.get(job.id);
  });
  const doorbell = await createDoorbell({ databaseUrl: database.appUrl, log: createLog({ level: "silent" }) });
  try {
    const found = await runTwice(mixing, (job: { tenant: string }) => ({ secretOf: job.tenant }), {
      database,
      doorbell,
    }).then(
      () => [],
      (error: RunTwiceFailed) => error.report.failures,
    );
    expect(found).toEqual([expect.stringMatching(/^result differs .*secretOf/)]);
  } finally {
    await doorbell.close();
  }
});
