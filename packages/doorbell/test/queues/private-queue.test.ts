// A queue of one's own on a broker of everybody's: what is sent to one is given out of no other, and removing one removes
// what is in it and nothing else.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newId } from "../../src/core/ids.ts";
import type { Delivery, QueueDriver } from "../../src/queue/driver.ts";
import { openQueueDriver } from "../../src/queue/open.ts";
import { brokerServers, type RunningServer } from "../servers/broker-servers.ts";
import { privateQueue } from "./private-queue.ts";

const noDatabase = { query: () => Promise.reject(new Error("a broker asks no database")) };
const receiveWithinMs = 10_000;

async function withDriver<T>(url: string, use: (driver: QueueDriver) => Promise<T>): Promise<T> {
  const driver = await openQueueDriver(url, noDatabase);
  try {
    return await use(driver);
  } finally {
    await driver.close();
  }
}

/** What comes first; nothing when nothing comes for so long. */
async function firstOf(driver: QueueDriver, withinMs: number): Promise<readonly Delivery[]> {
  const signal = AbortSignal.timeout(receiveWithinMs);
  for (const until = Date.now() + withinMs; Date.now() < until; ) {
    const deliveries = await driver.receive({ lanes: ["default"], max: 10, waitMs: 1_000, signal });
    if (deliveries.length > 0) return deliveries;
  }
  return [];
}

for (const [name, kind] of Object.entries(brokerServers)) {
  describe.skipIf(!kind.isThere() && !process.env["CI"])(`a private queue of ${name} (needs ${kind.program})`, () => {
    let server: RunningServer;
    beforeAll(async () => {
      server = await kind.start();
    }, 90_000);
    afterAll(() => server?.close());

    test("is nobody else's, and removing it leaves the others as they are", async () => {
      const [removed, kept] = [privateQueue(server.url, "run-1"), privateQueue(server.url, "run-2")];
      const [first, second] = [newId(), newId()];
      for (const [{ url }, id] of [
        [removed, first],
        [kept, second],
      ] as const) {
        await withDriver(url, (driver) => driver.send("default", [{ job_id: id, tenant_id: "acme" }]));
      }
      await removed.remove();
      // What a driver gives out at once when it is there: the other queue shows it.
      expect(await withDriver(removed.url, (driver) => firstOf(driver, 1_500))).toEqual([]);
      const deliveries = await withDriver(kept.url, (driver) => firstOf(driver, receiveWithinMs));
      expect(deliveries.map(({ body }) => JSON.stringify(body))).toEqual([expect.stringContaining(second)]);
    });
  });
}
