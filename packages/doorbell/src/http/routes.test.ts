import { expect, test } from "vitest";
import { DoorbellError } from "../core/errors.ts";
import { createLog } from "../telemetry/log.ts";
import { createMetrics } from "../telemetry/metrics.ts";
import type { Health } from "../worker/worker.ts";
import { type FetchHandler, routes } from "./routes.ts";

interface Served {
  readonly get: (path: string, init?: RequestInit) => Promise<Response>;
  readonly logged: Record<string, unknown>[];
}

function serve(web: FetchHandler | null, health: Health = { ready: true, reasons: [] }): Served {
  const logged: Record<string, unknown>[] = [];
  const log = createLog({ destination: { write: (line) => void logged.push(JSON.parse(line)) } });
  const metrics = createMetrics();
  metrics.close();
  const handler = routes({ ready: async () => health, metrics, push: null, log, web });
  return { get: async (path, init) => handler.fetch(new Request(`http://localhost${path}`, init)), logged };
}

const app = (respond: (request: Request) => Response | Promise<Response>): FetchHandler => ({ fetch: respond });

test("a process that cannot work is alive, but not ready, and says why", async () => {
  const { get } = serve(null, { ready: false, reasons: ["postgres does not answer"] });
  expect((await get("/healthz")).status).toBe(200);
  const answer = await get("/readyz");
  expect(answer.status).toBe(503);
  expect(await answer.json()).toEqual({ ready: false, reasons: ["postgres does not answer"] });
});

test("metrics come in the text format", async () => {
  const answer = await serve(null).get("/metrics");
  expect(answer.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(await answer.text()).toContain("# TYPE doorbell_jobs_claimed_total counter");
});

test("the product's paths are not the application's; everything else is, with its body", async () => {
  const { get } = serve(app(async (request) => new Response(`app: ${request.method} ${await request.text()}`)));
  expect(await (await get("/healthz")).json()).toEqual({ status: "ok" });
  expect((await get("/readyz", { method: "POST" })).status).toBe(405);
  expect(await (await get("/invoices", { method: "PUT", body: "bytes" })).text()).toBe("app: PUT bytes");
});

test("without an application's handler other paths are not found, as problem+json", async () => {
  const answer = await serve(null).get("/invoices?x=1");
  expect(answer.status).toBe(404);
  expect(answer.headers.get("content-type")).toBe("application/problem+json");
  expect(await answer.json()).toEqual({
    type: "about:blank",
    title: "Not Found",
    status: 404,
    detail: "there is nothing at /invoices",
  });
});

test("an operating error that the application lets through has its code's status", async () => {
  const { get, logged } = serve(
    app(() => {
      throw new DoorbellError("payload_too_large", "payload has 70000 bytes");
    }),
  );
  const answer = await get("/");
  expect(answer.status).toBe(413);
  expect(await answer.json()).toMatchObject({ code: "payload_too_large", detail: "payload has 70000 bytes" });
  expect(logged).toEqual([]);
});

test("any other error is logged, and its text stays inside", async () => {
  const { get, logged } = serve(app(() => Promise.reject(new Error("relation accounts does not exist"))));
  const answer = await get("/accounts?token=secret");
  expect(answer.status).toBe(500);
  expect(await answer.text()).not.toContain("relation");
  expect(logged).toMatchObject([
    { level: "error", path: "/accounts", error: { message: "relation accounts does not exist" } },
  ]);
});
