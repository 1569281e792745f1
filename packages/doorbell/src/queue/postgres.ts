// postgres: the line itself. Doorbells are in the table when the enqueue commits, so nothing is sent; a worker pops them in
// its tick. `receive` is the same by a way of its own, for whoever stands between (a wrapper that loses and doubles).
import { DoorbellError } from "../core/errors.ts";
import type { Tx } from "../store/database.ts";
import { takeDoorbells } from "../store/maintenance.ts";
import type { Delivery, QueueDriver } from "./driver.ts";

const pollMs = 100;

export function postgresDriver(tx: Tx): QueueDriver {
  let closed = false;
  const requireOpen = (): void => {
    if (closed) throw new DoorbellError("closed", "queue postgres is closed");
  };
  return {
    name: "postgres",
    capabilities: { line: true, sent: false, inProcess: false, redelivers: false },
    async send() {
      requireOpen();
    },
    async receive({ lanes, max, waitMs, signal }) {
      requireOpen();
      const until = performance.now() + waitMs;
      for (;;) {
        const deliveries: Delivery[] = [];
        for (const lane of lanes) {
          if (deliveries.length >= max) break;
          for (const body of await takeDoorbells(tx, lane, max - deliveries.length))
            deliveries.push({ body, handle: null });
        }
        if (deliveries.length > 0 || closed || signal.aborted || performance.now() >= until) return deliveries;
        await new Promise((resolve) => setTimeout(resolve, Math.min(pollMs, Math.max(0, until - performance.now()))));
      }
    },
    async ack() {},
    async close() {
      closed = true;
    },
  };
}
