// Endpoints of tenants, with real receivers: who is sent what, once, signed with which secrets; and who is not.
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import { expect, onTestFinished, test } from "vitest";
import { addEndpoint, rotateSecret } from "../src/effects/webhooks/endpoints.ts";
import { requireSecretBox } from "../src/effects/webhooks/secrets.ts";
import {
  type Doorbell,
  defineJob,
  type EndpointReceipt,
  fixed,
  type Handler,
  handle,
  type MaintainedWorkerOptions,
} from "../src/index.ts";
import * as store from "../src/store/webhooks.ts";
import { spellingsOf } from "./spellings.ts";
import { eventually, Stage } from "./support.ts";
import { signed, signing } from "./tenancy/signing.ts";

const secretKeys = ["k".repeat(32)];
const box = requireSecretBox(secretKeys);
const hook = defineJob({ kind: "hook", retry: { maxAttempts: 6, backoff: fixed({ base: "20ms", jitter: 0 }) } });
const sending = handle(hook, (job) => job.webhook({ event: "invoice.done", data: { invoice: 7 } }));

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** How many connections there were. */
  readonly connections: () => number;
  /** What the next requests are answered; the last for all after. */
  answer: (readonly [status: number, headers?: Record<string, string>])[];
}

/** On every address of this machine, gone with the test. */
async function receiver(...answer: Receiver["answer"]): Promise<Receiver> {
  let connections = 0;
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    received.push({ headers: request.headers, body });
    const [status, headers] = (self.answer.length > 1 ? self.answer.shift() : self.answer[0]) ?? [200];
    response.writeHead(status, headers).end();
  });
  server.on("connection", () => {
    connections += 1;
  });
  server.listen(0, "::");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const self: Receiver = { url: `http://127.0.0.1:${port}/in`, received, connections: () => connections, answer };
  return self;
}

class Post implements AsyncDisposable {
  readonly stage: Stage;
  readonly doorbell: Doorbell;

  constructor(stage: Stage, doorbell: Doorbell) {
    this.stage = stage;
    this.doorbell = doorbell;
  }

  static async open(handlers: readonly Handler[] = [sending], options: MaintainedWorkerOptions = {}): Promise<Post> {
    const stage = await Stage.open();
    const post = new Post(stage, await stage.client());
    await stage.worker(post.doorbell, handlers, { allowPrivateWebhooks: true, secretKeys, ...options });
    return post;
  }

  add(tenant: string, url: string, events: readonly string[] = ["*"]) {
    return this.doorbell.transaction(tenant, (tx) => addEndpoint(tx, { tenant, url, events, allowPrivate: true }, box));
  }

  async enqueue(tenant: string): Promise<string> {
    return (await this.doorbell.enqueue(hook, {}, { tenant })).id;
  }

  async ended(
    id: string,
    state = "done",
  ): Promise<{ readonly attempts: number; readonly result: unknown; readonly last_error: string | null }> {
    return await eventually(`job ${id} to be ${state}`, async () => {
      const [job] = await this.stage.db.query<{
        state: string;
        attempts: number;
        result: unknown;
        last_error: string | null;
      }>("select state, attempts, result, last_error from doorbell.all_jobs where id = $1", [id]);
      return job?.state === state && job;
    });
  }

  deliveries(tenant: string, job: string) {
    return this.doorbell.transaction(tenant, (tx) =>
      store.listDeliveries(tx, tenant, { endpoint: null, job, limit: 1_000 }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stage[Symbol.asyncDispose]();
  }
}

const verify = (secret: string, { headers, body }: Received): unknown =>
  new Webhook(secret).verify(body, headers as Record<string, string>);

const only = <T>(items: readonly T[]): T => {
  expect(items).toHaveLength(1);
  return items[0] as T;
};

test("an event goes to every active endpoint of the tenant that wants it, signed with the endpoint's secret, and to no other", async () => {
  await using post = await Post.open();
  const [all, wanting, other] = [await receiver([204]), await receiver(), await receiver()];
  const one = await post.add("acme", all.url);
  const two = await post.add("acme", wanting.url, ["invoice.failed", "invoice.done"]);
  await post.add("acme", other.url, ["invoice.failed"]);
  await post.add("globex", other.url);
  const off = await post.add("acme", other.url);
  await post.doorbell.transaction("acme", (tx) =>
    store.setEndpointState(tx, { tenant: "acme", id: off.id }, "disabled", "the customer asked"),
  );
  const id = await post.enqueue("acme");
  expect((await post.ended(id)).result).toEqual(
    [
      { endpoint: one.id, status: 204 },
      { endpoint: two.id, status: 200 },
    ].sort((a, b) => (a.endpoint < b.endpoint ? -1 : 1)),
  );
  for (const [to, secret] of [
    [all, one.secret],
    [wanting, two.secret],
  ] as const) {
    expect(verify(secret, only(to.received))).toEqual({ type: "invoice.done", data: { invoice: 7 } });
  }
  expect(() => verify(two.secret, only(all.received))).toThrow();
  expect(all.received[0]?.headers["webhook-id"]).not.toBe(wanting.received[0]?.headers["webhook-id"]);
  expect(other.connections()).toBe(0);
  expect((await post.deliveries("acme", id)).map(({ endpoint_id, status }) => [endpoint_id, status]).sort()).toEqual(
    [
      [one.id, 204],
      [two.id, 200],
    ].sort(),
  );
  expect(await post.deliveries("globex", id)).toEqual([]);
});

test("one that is busy or in doubt is sent to again with the same id, after the Retry-After; those that have taken it are not", async () => {
  await using post = await Post.open();
  const [ready, busy] = [await receiver(), await receiver([503, { "retry-after": "1" }], [200])];
  await post.add("acme", ready.url);
  const late = await post.add("acme", busy.url);
  const doubtful = await receiver([500], [200]);
  await post.add("acme", doubtful.url);
  const startedAtMs = performance.now();
  const id = await post.enqueue("acme");
  expect(await post.ended(id)).toMatchObject({ attempts: 2 });
  expect(performance.now() - startedAtMs).toBeGreaterThan(1_000);
  expect([ready, busy, doubtful].map(({ received }) => received.length)).toEqual([1, 2, 2]);
  const ids = [busy, doubtful].map(({ received }) => received.map(({ headers }) => headers["webhook-id"]));
  for (const [first, second] of ids) expect(second).toBe(first);
  expect(new Set(ids.flat()).size).toBe(2);
  for (const repeat of busy.received) expect(verify(late.secret, repeat)).toMatchObject({ type: "invoice.done" });
  expect((await post.deliveries("acme", id)).filter(({ endpoint_id }) => endpoint_id === late.id)).toMatchObject([
    { attempt: 2, outcome: "completed", status: 200, reason: null },
    { attempt: 1, outcome: "not_done", status: 503, reason: expect.stringContaining("answered 503") },
  ]);
});

test("who is sent to is decided once: an endpoint that comes later is not, one that was removed or disabled is skipped and told", async () => {
  const latecomer = await receiver();
  const [busy, removed, disabled] = [
    await receiver([429], [200]),
    await receiver([503], [200]),
    await receiver([503], [200]),
  ];
  const ids: Record<string, string> = {};
  const between = handle(hook, async (job) => {
    try {
      return await job.webhook({ event: "invoice.done", data: {} });
    } catch (error) {
      if (job.attempt === 1) {
        await post.add("acme", latecomer.url);
        await post.doorbell.transaction("acme", async (tx) => {
          await store.removeEndpoint(tx, "acme", ids["removed"] ?? "");
          await store.setEndpointState(tx, { tenant: "acme", id: ids["disabled"] ?? "" }, "disabled", "too slow");
        });
      }
      throw error;
    }
  });
  await using post = await Post.open([between]);
  for (const [name, { url }] of Object.entries({ busy, removed, disabled }))
    ids[name] = (await post.add("acme", url)).id;
  const id = await post.enqueue("acme");
  const expected: Record<string, EndpointReceipt> = {
    busy: { endpoint: ids["busy"] ?? "", status: 200 },
    removed: { endpoint: ids["removed"] ?? "", skipped: "removed" },
    disabled: { endpoint: ids["disabled"] ?? "", skipped: "disabled" },
  };
  const { result } = await post.ended(id);
  expect(result).toHaveLength(3);
  expect(result).toEqual(expect.arrayContaining(Object.values(expected)));
  expect(latecomer.connections()).toBe(0);
  expect([busy, removed, disabled].map(({ received }) => received.length)).toEqual([2, 1, 1]);
  const story = await eventually("the story to tell of it", async () => {
    const lines = await post.doorbell.transaction("acme", (tx) =>
      tx.query<{ message: string }>("select message from doorbell.story('acme', $1) where what = 'log'", [id]),
    );
    return lines.length >= 2 && lines.map(({ message }) => message).join("\n");
  });
  expect(story).toContain(`endpoint ${ids["removed"]} was skipped: it was removed`);
  expect(story).toContain(`endpoint ${ids["disabled"]} was skipped: it is disabled (too slow)`);
  // A replay comes to the same three, and to nobody who has it already; one that is enabled again is sent to.
  await post.doorbell.transaction("acme", (tx) =>
    store.setEndpointState(tx, { tenant: "acme", id: ids["disabled"] ?? "" }, "active", null),
  );
  await post.doorbell.transaction("acme", (tx) => tx.query("select doorbell.replay('acme', array[$1::uuid])", [id]));
  await eventually("the replay to send", () => disabled.received.length === 2);
  await post.ended(id);
  expect([busy, removed, latecomer].map(({ received }) => received.length)).toEqual([2, 1, 0]);
});

test("410 disables the endpoint, with reason and date, and the log tells; the job is done, and no later event is sent there", async () => {
  await using post = await Post.open();
  const [closed, open] = [await receiver([410]), await receiver()];
  const { id: endpoint } = await post.add("acme", closed.url);
  await post.add("acme", open.url);
  const before = new Date();
  const id = await post.enqueue("acme");
  const { result, attempts } = await post.ended(id);
  expect(attempts).toBe(1);
  expect(result).toContainEqual({ endpoint, skipped: "disabled" });
  const shown = await post.doorbell.transaction("acme", (tx) => store.getEndpoint(tx, "acme", endpoint));
  expect(shown).toMatchObject({ state: "disabled", disabled_reason: `it answered 410 Gone to job ${id}` });
  expect((shown?.disabled_at?.getTime() ?? 0) - before.getTime()).toBeGreaterThan(-1_000);
  expect(post.stage.lines).toContainEqual(
    expect.objectContaining({
      level: "warn",
      tenant_id: "acme",
      job_id: id,
      message: expect.stringContaining("410 Gone and is disabled"),
    }),
  );
  expect((await post.deliveries("acme", id)).find((row) => row.endpoint_id === endpoint)).toMatchObject({
    outcome: "not_done",
    status: 410,
  });
  await post.ended(await post.enqueue("acme"));
  expect([closed.received.length, open.received.length]).toEqual([1, 2]);
});

test("one that refuses for good makes the job a dead letter when the others have it; a replay sends to that one alone", async () => {
  await using post = await Post.open();
  const [broken, fine] = [await receiver([404]), await receiver()];
  const { id: endpoint } = await post.add("acme", broken.url);
  await post.add("acme", fine.url);
  const id = await post.enqueue("acme");
  const { attempts, last_error } = await post.ended(id, "failed");
  expect(attempts).toBe(1);
  expect(last_error).toContain(`1 of 2 endpoints have not taken it: webhook invoice.done to endpoint ${endpoint}`);
  expect(last_error).not.toContain("/in");
  broken.answer = [[200]];
  await post.doorbell.transaction("acme", (tx) => tx.query("select doorbell.replay('acme', array[$1::uuid])", [id]));
  expect((await post.ended(id)).result).toHaveLength(2);
  expect([broken.received.length, fine.received.length]).toEqual([2, 1]);
});

test("while a secret is rotated, receivers with either verify; then only those with the new one", async () => {
  await using post = await Post.open();
  const to = await receiver();
  const first = await post.add("acme", to.url);
  const rotate = async (overlap: string): Promise<string> => {
    const place = { tenant: "acme", id: first.id, overlap };
    const rotated = await post.doorbell.transaction("acme", (tx) => rotateSecret(tx, place, box));
    return rotated?.secret ?? "";
  };
  const deliver = async (): Promise<Received> => {
    await post.ended(await post.enqueue("acme"));
    return to.received.at(-1) as Received;
  };
  const second = await rotate("24h");
  const both = await deliver();
  expect(String(both.headers["webhook-signature"]).split(" ")).toHaveLength(2);
  for (const secret of [first.secret, second]) expect(verify(secret, both)).toMatchObject({ type: "invoice.done" });
  // The first ends with the next rotation, however long it was given: there are two at most.
  const third = await rotate("600ms");
  const later = await deliver();
  expect(() => verify(first.secret, later)).toThrow();
  for (const secret of [second, third]) expect(verify(secret, later)).toMatchObject({ type: "invoice.done" });
  await new Promise((resolve) => setTimeout(resolve, 700));
  const last = await deliver();
  expect(String(last.headers["webhook-signature"]).split(" ")).toHaveLength(1);
  expect(verify(third, last)).toMatchObject({ type: "invoice.done" });
  expect(() => verify(second, last)).toThrow();
  expect(
    await post.doorbell.transaction("globex", (tx) =>
      rotateSecret(tx, { tenant: "globex", id: first.id, overlap: 0 }, box),
    ),
  ).toBeNull();
});

test("two tenants with an endpoint of one id: each is sent its own, and a secret that is moved from one to the other signs nothing", async () => {
  await using post = await Post.open();
  const [ofAcme, ofGlobex] = [await receiver(), await receiver()];
  const acme = await post.add("acme", ofAcme.url);
  const sealed = box.seal("whsec_Z2xvYmV4", { tenant: "globex", endpoint: acme.id });
  const row = { tenant: "globex", id: acme.id, url: ofGlobex.url, events: ["*"], sealed };
  expect(await post.doorbell.transaction("globex", (tx) => store.addEndpoint(tx, row))).toBe("added");
  await Promise.all((["acme", "globex"] as const).map(async (tenant) => post.ended(await post.enqueue(tenant))));
  expect(verify(acme.secret, only(ofAcme.received))).toMatchObject({ type: "invoice.done" });
  expect(verify("whsec_Z2xvYmV4", only(ofGlobex.received))).toMatchObject({ type: "invoice.done" });
  // Of the other tenant's endpoint nothing can be changed either.
  const asAcme = (of: string) => post.doorbell.transaction("acme", (tx) => store.removeEndpoint(tx, of, acme.id));
  await expect(asAcme("globex")).rejects.toThrow("clamped to another tenant");
  expect(await asAcme("acme")).toBe(true);
  expect(await post.doorbell.transaction("globex", (tx) => store.getEndpoint(tx, "globex", acme.id))).toMatchObject({
    url: ofGlobex.url,
  });
  const moved = box.seal("whsec_YWNtZQ==", { tenant: "acme", endpoint: acme.id });
  await post.stage.db.query("update doorbell.webhook_secrets set sealed = $1 where tenant_id = 'globex'", [moved]);
  const id = await post.enqueue("globex");
  const { last_error } = await post.ended(id, "failed");
  expect(last_error).toContain("its secret does not open with DOORBELL_SECRET_KEYS");
  expect(ofGlobex.received).toHaveLength(1);
}, 30_000);

test("no endpoint on a private address is connected to, however it is spelled, nor by a redirect", async () => {
  await using post = await Post.open([sending], { allowPrivateWebhooks: false });
  const to = await receiver();
  const port = new URL(to.url).port;
  const hosts = ["localhost", "localhost.", "[::1]", "[::]", "0.0.0.0", ...spellingsOf("127.0.0.1")];
  const jobs: string[] = [];
  for (let n = 0; n < hosts.length; n += 80) {
    const tenant = `acme ${n}`;
    for (const host of hosts.slice(n, n + 80)) await post.add(tenant, `http://${host}:${port}/`);
    jobs.push(await post.enqueue(tenant));
  }
  expect(hosts.length).toBeGreaterThan(60);
  for (const [n, id] of jobs.entries()) {
    await eventually("every endpoint to have been tried", async () => {
      const tried = await post.deliveries(`acme ${80 * n}`, id);
      expect(tried.filter(({ outcome, status }) => outcome !== "not_done" || status !== null)).toEqual([]);
      return new Set(tried.map(({ endpoint_id }) => endpoint_id)).size === Math.min(80, hosts.length - 80 * n);
    });
  }
  expect(to.connections()).toBe(0);
  // They would have been reached: where private addresses are allowed, they are.
  await using control = await Post.open();
  const some = ["localhost", "[::1]", "0x7f.1", "2130706433", "[::ffff:7f00:1]"];
  for (const host of some) await control.add("acme", `http://${host}:${port}/`);
  await control.ended(await control.enqueue("acme"));
  expect(to.received).toHaveLength(some.length);
}, 30_000);

test("a redirect to loopback is not followed, and is refused for good", async () => {
  await using post = await Post.open();
  const inner = await receiver();
  const moved = await receiver([301, { location: inner.url }]);
  await post.add("acme", moved.url);
  const { last_error } = await post.ended(await post.enqueue("acme"), "failed");
  expect(last_error).toContain("answered 301");
  expect([moved.received.length, inner.connections()]).toEqual([1, 0]);
});

test("without a key nothing is sent, and the error says what to set; a secret is in no log, no error and no row", async () => {
  await using post = await Post.open([sending], { secretKeys: [] });
  const to = await receiver();
  const { secret } = await post.add("acme", to.url);
  const id = await post.enqueue("acme");
  expect((await post.ended(id, "failed")).last_error).toContain("set DOORBELL_SECRET_KEYS");
  expect(to.connections()).toBe(0);

  await using other = await Post.open();
  const failing = await receiver([500], [404]);
  const added = await other.add("acme", failing.url);
  const failed = await other.enqueue("acme");
  await other.ended(failed, "failed");
  const rows = await other.stage.db.query<{ name: string }>(
    "select relname as name from pg_class where relnamespace = 'doorbell'::regnamespace and relkind in ('r', 'p')",
  );
  const told = [JSON.stringify(other.stage.lines), JSON.stringify(post.stage.lines)];
  for (const { name } of rows) {
    const text = await other.stage.db.query(
      `select t::text as text, encode(convert_to(t::text, 'UTF8'), 'base64') from doorbell.${name} t`,
    );
    told.push(JSON.stringify(text));
  }
  const asHex = (text: string): string => Buffer.from(text).toString("hex");
  for (const one of [secret, added.secret]) {
    for (const trace of [one, one.slice("whsec_".length), asHex(one)]) {
      expect(told.filter((text) => text.includes(trace))).toEqual([]);
    }
  }
  expect(told.join("")).toContain("answered 404");
});

test("where tenancy is signed, the web tier adds an endpoint with its token, the worker delivers, and the web tier reads of it", async () => {
  await using stage = await Stage.open();
  await signing().acceptBy((sql) => stage.db.query(sql));
  const [web, unsigned, app] = [
    await stage.client({ databaseUrl: stage.db.webUrl, ...signed }),
    await stage.client({ databaseUrl: stage.db.webUrl }),
    await stage.client(signed),
  ];
  await stage.worker(app, [sending], { allowPrivateWebhooks: true, secretKeys });
  const to = await receiver();
  const request = { tenant: "acme", url: to.url, events: ["*"], allowPrivate: true };
  await expect(unsigned.transaction("acme", (tx) => addEndpoint(tx, request, box))).rejects.toThrow("no valid token");
  const { id: endpoint, secret } = await web.transaction("acme", (tx) => addEndpoint(tx, request, box));
  const { id } = await web.enqueue(hook, {}, { tenant: "acme" });
  const filter = { endpoint, job: id, limit: 10 };
  const look = (client: Doorbell) => client.transaction("acme", (tx) => store.listDeliveries(tx, "acme", filter));
  await eventually("the delivery to be on record", async () => (await look(web)).length === 1);
  expect(verify(secret, only(to.received))).toMatchObject({ type: "invoice.done" });
  expect(await look(unsigned)).toEqual([]);
});

test("an event that is none is refused; the same event twice in one attempt wants keys", async () => {
  const errors: string[] = [];
  const twice = handle(hook, async (job) => {
    await job.webhook({ event: "", data: {} }).catch((error: Error) => errors.push(error.message));
    await job.webhook({ event: "invoice.done", data: 1 });
    await job.webhook({ event: "invoice.done", data: 2 }).catch((error: Error) => errors.push(error.message));
    return await job.webhook({ event: "invoice.done", data: 2, key: "second" });
  });
  await using post = await Post.open([twice]);
  const to = await receiver();
  await post.add("acme", to.url);
  await post.ended(await post.enqueue("acme"));
  expect(errors).toEqual(["webhook event is empty", expect.stringContaining("give each effect a key of its own")]);
  expect(to.received.map(({ body }) => (JSON.parse(body) as { data: number }).data)).toEqual([1, 2]);
});
