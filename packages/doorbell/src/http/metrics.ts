// /metrics: what this process has counted, and the state of the table as of this scrape.
import { Hono } from "hono";
import type { Metrics } from "../telemetry/metrics.ts";

export function metricsRoutes(metrics: Metrics): Hono {
  return new Hono().get("/metrics", async (c) => {
    const { contentType, body } = await metrics.expose();
    return c.body(body, 200, { "content-type": contentType, "cache-control": "no-store" });
  });
}
