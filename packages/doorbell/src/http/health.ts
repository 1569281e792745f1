// /healthz and /readyz. Healthy: the process lives, and answers; nothing else, or a database that is away would have every
// process restarted. Ready: it can do its work now, and is not about to end; else 503 with the reasons.
import { Hono } from "hono";
import type { Health } from "../worker/worker.ts";

export function healthRoutes(ready: () => Promise<Health>): Hono {
  return new Hono()
    .get("/healthz", (c) => c.json({ status: "ok" }, 200, { "cache-control": "no-store" }))
    .get("/readyz", async (c) => {
      const health = await ready();
      return c.json(health, health.ready ? 200 : 503, { "cache-control": "no-store" });
    });
}
