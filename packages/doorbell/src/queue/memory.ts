// memory: a queue inside one process, for tests and first steps. Its messages die with it; production refuses it.
import { DoorbellError } from "../core/errors.ts";
import type { Delivery, Doorbell, QueueDriver } from "./driver.ts";

export function memoryDriver(): QueueDriver {
  const lanes = new Map<string, Doorbell[]>();
  const waiters = new Set<() => void>();
  let closed = false;

  const wake = (): void => {
    for (const waiter of waiters) waiter();
  };
  const take = (names: readonly string[], max: number): Delivery[] => {
    const taken: Delivery[] = [];
    for (const name of names) {
      const queued = lanes.get(name);
      if (queued) taken.push(...queued.splice(0, max - taken.length).map((body) => ({ body, handle: null })));
      if (taken.length >= max) break;
    }
    return taken;
  };

  return {
    name: "memory",
    capabilities: { line: false, sent: true, inProcess: true, redelivers: false },
    async send(lane, doorbells) {
      if (closed) throw new DoorbellError("closed", "queue memory is closed");
      const queued = lanes.get(lane) ?? [];
      lanes.set(lane, queued);
      queued.push(...doorbells);
      wake();
    },
    async receive({ lanes: names, max, waitMs, signal }) {
      if (closed) throw new DoorbellError("closed", "queue memory is closed");
      const now = take(names, max);
      if (now.length > 0 || signal.aborted) return now;
      await new Promise<void>((resolve) => {
        const end = (): void => {
          clearTimeout(timer);
          signal.removeEventListener("abort", end);
          waiters.delete(end);
          resolve();
        };
        const timer = setTimeout(end, waitMs);
        signal.addEventListener("abort", end, { once: true });
        waiters.add(end);
      });
      return take(names, max);
    },
    async ack() {},
    async close() {
      closed = true;
      wake();
    },
  };
}
