// Which part of HTTP answers what: the product's own paths first, each group of them a file of its own, and the
// application's handler for everything else. An error anywhere becomes problem+json.
import { Hono } from "hono";
import type { Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { Health } from "../worker/worker.ts";
import { healthRoutes } from "./health.ts";
import { metricsRoutes } from "./metrics.ts";
import { errorResponse, problemResponse } from "./problem.ts";
import { pushPath } from "./push.ts";

export interface FetchHandler {
  fetch(request: Request): Response | Promise<Response>;
}

export interface RoutesOptions {
  readonly ready: () => Promise<Health>;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Answers what a queue pushes. Null: nothing is pushed here, and the path is the application's. */
  readonly push: ((request: Request) => Promise<Response>) | null;
  /** The application's. Null: the role or the application has none. */
  readonly web: FetchHandler | null;
}

const productPaths: readonly string[] = ["/healthz", "/readyz", "/metrics"];

export function routes({ ready, metrics, push, log, web }: RoutesOptions): FetchHandler {
  const app = new Hono();
  app.route("/", healthRoutes(ready));
  app.route("/", metricsRoutes(metrics));
  for (const path of productPaths) {
    app.all(path, (c) =>
      problemResponse({ status: 405, detail: `${c.req.method} is not for ${path}` }, { allow: "GET, HEAD" }),
    );
  }
  if (push !== null) app.all(pushPath, (c) => push(c.req.raw));
  app.all(
    "*",
    (c) => web?.fetch(c.req.raw) ?? problemResponse({ status: 404, detail: `there is nothing at ${c.req.path}` }),
  );
  app.onError((error, c) => errorResponse(error, c.req.raw, log));
  return { fetch: (request) => app.fetch(request) };
}
