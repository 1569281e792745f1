// Endpoints of webhooks on the command line: a secret is shown once, private addresses are refused at once, and one
// tenant's endpoints are nothing to another.
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { WebhookDelivery, WebhookEndpoint } from "../../src/store/webhooks.ts";
import { spellingsOf } from "../spellings.ts";
import { Desk } from "./desk.ts";
import { run } from "./support.ts";

const keys = { DOORBELL_SECRET_KEYS: "k".repeat(32) };
let desk: Desk;

beforeAll(async () => {
  desk = await Desk.open(keys);
  await desk.work();
});

afterAll(() => desk[Symbol.asyncDispose]());

interface Request {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

async function receiver(status: number): Promise<{ readonly url: string; readonly requests: Request[] }> {
  const requests: Request[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    requests.push({ headers: request.headers, body });
    response.writeHead(status).end();
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/in`, requests };
}

test("an endpoint is added, listed, rotated, disabled, enabled and removed; its secret is shown by add and rotate, and by nothing else", async () => {
  const acme = desk.tenant("acme");
  const { url, requests } = await receiver(200);
  const added = await acme.json<{ endpoint: string; secret: string }>(
    "webhooks",
    "add",
    url,
    "--event",
    "greeted",
    "left",
  );
  expect(added.secret).toMatch(/^whsec_/);
  const [id, secret] = (await acme.run("webhooks", "rotate", added.endpoint)).trim().split("\n");
  expect(id).toBe(added.endpoint);
  expect(secret).toMatch(/^whsec_/);
  expect(secret).not.toBe(added.secret);

  const job = await acme.enqueue("telling");
  await desk.until(job, "done");
  const [request] = requests;
  for (const one of [added.secret, secret ?? ""]) {
    expect(new Webhook(one).verify(request?.body ?? "", request?.headers as Record<string, string>)).toMatchObject({
      type: "greeted",
    });
  }

  const [endpoint] = await acme.json<WebhookEndpoint[]>("webhooks", "list");
  expect(endpoint).toMatchObject({ id, url, events: ["greeted", "left"], state: "active", disabled_reason: null });
  expect(new Date(endpoint?.old_secret_until ?? 0).getTime() - Date.now()).toBeGreaterThan(23 * 3_600_000);
  expect(await acme.attempt("webhooks", "disable", id ?? "")).toMatchObject({ code: 2 });
  expect(await acme.run("webhooks", "disable", id ?? "", "--reason", "too loud")).toBe(`disabled: ${id} (too loud)\n`);
  const quiet = await acme.enqueue("telling");
  await desk.until(quiet, "done");
  expect(requests).toHaveLength(1);
  expect(await acme.json("webhooks", "enable", id ?? "")).toMatchObject({ id, state: "active", disabled_reason: null });

  const deliveries = await acme.json<WebhookDelivery[]>("webhooks", "deliveries", "--endpoint", id ?? "");
  expect(deliveries).toMatchObject([{ job_id: job, outcome: "completed", status: 200, attempt: 1 }]);
  const texts = await Promise.all(
    [
      ["webhooks", "list"],
      ["webhooks", "deliveries"],
      ["jobs", "show", job],
      ["logs", job],
      ["effects", "list"],
    ].map(async (args) => `${await acme.run(...args)}${await acme.run(...args, "--json")}`),
  );
  expect(texts[0]).toContain(url);
  expect(texts[1]).toContain(job);
  for (const text of texts) expect(text).not.toContain("whsec_");

  expect(await acme.run("webhooks", "remove", id ?? "")).toBe(`removed: ${id}\n`);
  expect(await acme.json("webhooks", "list")).toEqual([]);
  expect(await acme.json("webhooks", "deliveries", "--job", job)).toHaveLength(1);
  for (const command of [["rotate"], ["remove"], ["enable"], ["disable", "--reason", "r"]]) {
    const [name = "", ...options] = command;
    expect(await acme.attempt("webhooks", name, id ?? "", ...options)).toMatchObject({
      code: 1,
      stderr: `doorbell: no such endpoint: ${id}\n`,
    });
  }
});

test("another tenant's endpoint is no endpoint: nothing is listed, rotated, disabled or removed", async () => {
  const [acme, globex] = [desk.tenant("acme"), desk.tenant("globex")];
  const { endpoint } = await acme.json<{ endpoint: string }>("webhooks", "add", "https://hooks.example.com/acme");
  expect(await globex.json("webhooks", "list")).toEqual([]);
  for (const command of [["rotate"], ["remove"], ["enable"], ["disable", "--reason", "r"]]) {
    const [name = "", ...options] = command;
    expect(await globex.attempt("webhooks", name, endpoint, ...options)).toMatchObject({ code: 1 });
  }
  expect(await acme.json("webhooks", "list")).toMatchObject([
    { id: endpoint, state: "active", old_secret_until: null },
  ]);
});

test("a private address is refused at once, in every spelling, and nothing is stored", async () => {
  const acme = desk.tenant("acme");
  const env = { ...desk.env, DOORBELL_WEBHOOK_ALLOW_PRIVATE: "0" };
  const add = (url: string) => run(["webhooks", "add", url, "--tenant", acme.tenant], env);
  const hosts = [
    "localhost",
    "[::1]",
    ...["127.0.0.1", "169.254.169.254"].flatMap((one) => spellingsOf(one).filter((_, n) => n % 12 === 0)),
  ];
  expect(hosts.length).toBeGreaterThan(8);
  for (const host of hosts) {
    expect(await add(`https://${host}/`), host).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^doorbell: webhook url leads to .* not a public address\n/),
    });
  }
  for (const url of ["ftp://example.com/", "https://me:hunter2@example.com/", "example.com"]) {
    const { code, stderr } = await add(url);
    expect(code).toBe(2);
    expect(stderr).not.toContain("hunter2");
  }
  expect(await acme.json("webhooks", "list")).toEqual([]);
  expect(await add("https://hooks.example.com/in")).toMatchObject({ code: 0 });
});

test("what cannot be sealed, or is one too many, is refused with what to do", async () => {
  const acme = desk.tenant("acme");
  const { DOORBELL_SECRET_KEYS: _, ...env } = desk.env;
  expect(await run(["webhooks", "add", "https://h.example/", "--tenant", acme.tenant], env)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("set DOORBELL_SECRET_KEYS"),
  });
  expect(await acme.attempt("webhooks", "add", "https://h.example/", "--event", "")).toMatchObject({ code: 2 });
  await desk.database.query(
    `select doorbell.add_webhook($1, gen_random_uuid(), 'https://h.example/', '{*}', '\\x00') from generate_series(1, 100)`,
    [acme.tenant],
  );
  expect(await acme.attempt("webhooks", "add", "https://h.example/")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("has 100 endpoints already"),
  });
  const [endpoint] = await acme.json<WebhookEndpoint[]>("webhooks", "list");
  const long = ["--reason", "x".repeat(1_001)];
  expect(await acme.attempt("webhooks", "disable", endpoint?.id ?? "", ...long)).toMatchObject({
    code: 2,
    stderr: "doorbell: the reason is longer than 1000 bytes\n",
  });
  expect(await acme.attempt("webhooks", "add", `https://h.example/${"é".repeat(700)}`)).toMatchObject({ code: 2 });
  for (const overlap of ["31d", "soon"])
    expect(await acme.attempt("webhooks", "rotate", endpoint?.id ?? "", "--overlap", overlap)).toMatchObject({
      code: 2,
    });
});
