// The suite of queue drivers once more, with faults on the way: half of the doorbells lost, the others doubled, late and in
// any order. Only what must hold then is asserted: what was not lost arrives, what is rung again arrives in the end, and
// nothing arrives that was never rung. Joined like queue-suite.ts.
import assert from "node:assert/strict";
import type { Doorbell, QueueDriver } from "../queue/driver.ts";
import { asDoorbell, Queue } from "../queue/queue.ts";
import { createMetrics } from "../telemetry/metrics.ts";
import {
  collect,
  doorbells,
  nameOf,
  namesOf,
  type QueueCase,
  type QueueTest,
  type QueueUnderTest,
  type Site,
  suiteLanes,
  testsOf,
} from "./queue-place.ts";
import { junk } from "./queue-suite.ts";
import { unreliableQueue } from "./unreliable-queue.ts";

/** The cases with faults, for this queue. */
export function queueFaultTests(queue: QueueUnderTest): readonly QueueTest[] {
  return testsOf(faultCases, queue);
}

const { main, second } = suiteLanes;
const roundsMax = 30;
const roundMs = 600;

const faultCases: readonly QueueCase[] = [
  {
    title: "with half lost and the others doubled, late and shuffled, what was not lost arrives and nothing else does",
    needs: [],
    async run(site) {
      const { driver, lost } = await badDay(site);
      const sent = doorbells(200);
      await site.ring(main, sent.slice(0, 120));
      await site.ring(second, sent.slice(120));
      const came = new Map<string, number>();
      // One that the broker gave out twice may have come and been lost.
      const accountedFor = (): ReadonlySet<string> => new Set([...came.keys(), ...lost]);
      for (let round = 0; accountedFor().size < sent.length; round += 1) {
        assert.ok(round < roundsMax, `${came.size} came and ${lost.size} were lost of ${sent.length}`);
        await receiveInto(came, driver, [main, second]);
      }
      // The late copies of those that came last.
      await receiveInto(came, driver, [main, second]);
      assert.deepEqual([...accountedFor()].sort(), namesOf(sent));
      assert.ok(lost.size > 0, "some were lost");
      assert.ok(
        [...came.values()].some((copies) => copies > 1),
        "some came twice",
      );
    },
  },
  {
    title: "what is rung again until it has come comes in the end, every one",
    needs: [],
    async run(site) {
      const { driver } = await badDay(site);
      await ringUntilAllCame(site, driver, doorbells(100));
    },
  },
  {
    title: "junk among the faults never stops the doorbells beside it",
    needs: ["inject"],
    async run(site) {
      const { driver } = await badDay(site);
      const metrics = createMetrics();
      const quiet = () => {};
      const queue = new Queue(driver, { metrics, log: { debug: quiet, info: quiet, warn: quiet, error: quiet } });
      const { signal } = new AbortController();
      await queue.receive({ lanes: [main], max: 1, waitMs: 0, signal });
      const sent = doorbells(60);
      const came = new Set<string>();
      for (let round = 0; came.size < sent.length; round += 1) {
        assert.ok(round < roundsMax, `${came.size} of ${sent.length} came`);
        for (const [, bytes] of junk) await site.inject(main, bytes);
        await site.ring(
          main,
          sent.filter((doorbell) => !came.has(nameOf(doorbell))),
        );
        for (const until = performance.now() + roundMs; performance.now() < until; ) {
          const received = await queue.receive({ lanes: [main], max: 10, waitMs: 100, signal });
          for (const doorbell of received.doorbells) came.add(nameOf(doorbell));
          await received.ack();
        }
      }
      assert.deepEqual([...came].sort(), namesOf(sent));
      metrics.close();
    },
  },
  {
    title: "a queue that is deleted again and again, among the other faults, only makes doorbells late",
    needs: ["wipe"],
    async run(site) {
      const { driver } = await badDay(site);
      await ringUntilAllCame(site, driver, doorbells(60), async (round) => {
        if (round < 3) await site.wipe();
      });
    },
  },
  {
    title: "a server that goes away again and again, among the other faults, only makes doorbells late",
    needs: ["server"],
    async run(site) {
      const { driver } = await badDay(site);
      await ringUntilAllCame(site, driver, doorbells(60), async (round) => {
        if (round >= 2) return;
        await site.server.stop();
        await receiveInto(new Map(), driver, [main]);
        await site.server.start();
      });
    },
  },
];

/** A driver of the site's on a bad day, and the names of what it has lost so far. */
async function badDay(site: Site): Promise<{ readonly driver: QueueDriver; readonly lost: ReadonlySet<string> }> {
  const lost = new Set<string>();
  const driver = unreliableQueue(await site.driver(), {
    lose: 0.5,
    copies: 2,
    delayMaxMs: 300,
    reorder: true,
    onLost: (deliveries) => {
      for (const { body } of deliveries) {
        const doorbell = asDoorbell(body);
        if (doorbell !== null) lost.add(nameOf(doorbell));
      }
    },
  });
  return { driver, lost };
}

/** As the sweeper does: whatever has not come is rung again, round after round, each with its own mishap. */
async function ringUntilAllCame(
  site: Site,
  driver: QueueDriver,
  sent: readonly Doorbell[],
  mishap: (round: number) => Promise<void> = async () => {},
): Promise<void> {
  const came = new Map<string, number>();
  for (let round = 0; came.size < sent.length; round += 1) {
    assert.ok(round < roundsMax, `${came.size} of ${sent.length} came`);
    await site.ringUntilTaken(
      main,
      sent.filter((doorbell) => !came.has(nameOf(doorbell))),
    );
    await mishap(round);
    await receiveInto(came, driver, [main]);
  }
  assert.deepEqual([...came.keys()].sort(), namesOf(sent));
}

async function receiveInto(came: Map<string, number>, driver: QueueDriver, lanes: readonly string[]): Promise<void> {
  const tally = await collect(driver, { lanes, forMs: roundMs, max: 20, tolerant: true });
  for (const [name, copies] of tally) came.set(name, (came.get(name) ?? 0) + copies);
}
