// The conformance suite of queue drivers: what every driver has to show, whatever carries its messages. Needs no test
// framework; a case is a title, a reason to skip it, and something to run:
//
//     for (const { title, skip, alone, run } of queueTests(queue))
//       (alone ? test : test.concurrent)(title, (it) => (skip === null ? run() : it.skip(skip)));
//
// Every case gets a place of its own (see queue-place.ts). What must hold with faults on the way is in queue-faults.ts.
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import type { Delivery, Doorbell, QueueDriver } from "../queue/driver.ts";
import { asDoorbell, Queue } from "../queue/queue.ts";
import { createMetrics } from "../telemetry/metrics.ts";
import {
  arriveWithinMs,
  collect,
  doorbells,
  nameOf,
  namesOf,
  type QueueCase,
  type QueueTest,
  type QueueUnderTest,
  receiveSome,
  suiteLanes,
  testsOf,
  untilFulfilled,
  within,
} from "./queue-place.ts";

/** The cases, for this queue. */
export function queueTests(queue: QueueUnderTest): readonly QueueTest[] {
  return testsOf(queueCases, queue);
}

const { main, second, third } = suiteLanes;
const never = new AbortController().signal;

/** How often what is acknowledged at once may come, without any fault: a broker that promises "at least once" may double. */
const copiesMax = 2;

/** Tenant ids that quotes, patterns, paths, encodings and limits would trip over. */
const oddTenants: readonly string[] = [
  "a'b",
  'a"b',
  "50%",
  "%s %00",
  "🙂 日本 é e\u{301}",
  "../../etc/passwd",
  "..\\x",
  "two\nlines\r\n\ttab",
  " spaces ",
  "a.b.*.>",
  "{acme}:1",
  "$1; drop table jobs --",
  "\u{1}\u{7f}\u{ffff}",
  "null",
  "x".repeat(200),
  "é".repeat(100),
];

/** Messages that are no doorbells, as other programs, mistakes and attackers send them. */
export const junk: readonly (readonly [what: string, bytes: Uint8Array])[] = [
  ["not JSON", bytesOf("hello")],
  ["empty", bytesOf("")],
  ["half a document", bytesOf('{"job_id":"01890a5d-ac96-774b-bcce-b302099a8057","tenant_id":"ac')],
  ["null", bytesOf("null")],
  ["a number", bytesOf("7")],
  ["an array", bytesOf("[1,2]")],
  ["a doorbell in an array", bytesOf('[{"job_id":"01890a5d-ac96-774b-bcce-b302099a8057","tenant_id":"acme"}]')],
  ["a wrong shape", bytesOf('{"jobId":1}')],
  ["a job id that is none", bytesOf('{"job_id":"1","tenant_id":"acme"}')],
  ["no tenant", bytesOf('{"job_id":"01890a5d-ac96-774b-bcce-b302099a8057","tenant_id":""}')],
  ["every tenant", bytesOf('{"job_id":"01890a5d-ac96-774b-bcce-b302099a8057","tenant_id":"*"}')],
  ["nested deeply", bytesOf(`${"[".repeat(5_000)}${"]".repeat(5_000)}`)],
  ["binary", Uint8Array.from({ length: 512 }, (_, index) => index % 256)],
];

const queueCases: readonly QueueCase[] = [
  {
    title: "what is rung arrives, and what was acknowledged does not come again",
    needs: [],
    async run(site) {
      const driver = await site.driver();
      const sent = doorbells(100);
      await site.ring(main, sent);
      const tally = await collect(driver, { count: 100 });
      assert.deepEqual([...tally.keys()].sort(), namesOf(sent));
      const later = await collect(driver, { forMs: 1.5 * site.place.redeliverMs });
      for (const [name, copies] of later) tally.set(name, (tally.get(name) ?? 0) + copies);
      for (const [name, copies] of tally) assert.ok(copies <= copiesMax, `${name} came ${copies} times`);
    },
  },
  {
    title: "its capabilities are what the suite was told",
    needs: [],
    async run(site) {
      const { capabilities } = await site.driver();
      assert.equal(capabilities.sent, site.place.ring === undefined);
      assert.equal(capabilities.redelivers, site.lacks.redelivers === undefined);
    },
  },
  {
    title: "more doorbells than fit in one request of the broker's are sent in one call",
    needs: [],
    async run(site) {
      const driver = await site.driver();
      const sent = doorbells(1_250);
      await site.ring(main, sent);
      const tally = await collect(driver, { count: 1_250, max: 1_000 });
      assert.deepEqual([...tally.keys()].sort(), namesOf(sent));
    },
  },
  {
    title: "nothing at all is sent and acknowledged without an error",
    needs: [],
    async run(site) {
      const driver = await site.driver();
      await driver.send(main, []);
      await driver.ack([]);
      assert.deepEqual(await driver.receive({ lanes: [main], max: 10, waitMs: 100, signal: never }), []);
    },
  },
  {
    title: "a receive never gives more than it was asked for, and loses none of the rest",
    needs: [],
    async run(site) {
      const driver = await site.driver();
      const sent = doorbells(7);
      await site.ring(main, sent.slice(0, 4));
      await site.ring(second, sent.slice(4));
      const tally = await collect(driver, { count: 7, max: 1, lanes: [main, second] });
      assert.deepEqual([...tally.keys()].sort(), namesOf(sent));
    },
  },
  {
    title: "lanes are kept apart, and one receive may serve several",
    needs: [],
    async run(site) {
      const driver = await site.driver();
      const sent: Readonly<Record<string, readonly Doorbell[]>> = {
        [main]: doorbells(3),
        [second]: doorbells(4),
        [third]: doorbells(5),
      };
      for (const [lane, list] of Object.entries(sent)) await site.ring(lane, list);
      const tally = await collect(driver, { lanes: [second], count: 4 });
      assert.deepEqual([...tally.keys()].sort(), namesOf(sent[second] ?? []));
      assert.equal((await collect(driver, { lanes: [second], forMs: 300 })).size, 0);
      const rest = await collect(driver, { lanes: [third, main], count: 8 });
      assert.deepEqual([...rest.keys()].sort(), namesOf([...(sent[main] ?? []), ...(sent[third] ?? [])]));
    },
  },
  {
    title: "a receiver that waits on several lanes has what comes into any of them at once",
    needs: [],
    async run(site) {
      const driver = await site.driver();
      for (const lane of [main, second, third]) {
        const waiting = meanwhile(collect(driver, { lanes: [main, second, third], count: 1 }));
        await delay(200);
        const [bell] = doorbells(1) as [Doorbell];
        await site.ring(lane, [bell]);
        const rungAt = performance.now();
        assert.deepEqual([...(await waiting).keys()], [nameOf(bell)]);
        const tookMs = performance.now() - rungAt;
        assert.ok(tookMs < 2_000, `it took ${Math.round(tookMs)} ms in lane ${lane}`);
      }
    },
  },
  {
    title: "tenant ids of odd bytes come back exactly, each to its own job",
    needs: [],
    async run(site) {
      const driver = await site.driver();
      const sent = oddTenants.flatMap((tenant) => doorbells(2, tenant));
      await site.ring(main, sent);
      const tally = await collect(driver, { count: sent.length });
      assert.deepEqual([...tally.keys()].sort(), namesOf(sent));
    },
  },
  {
    title: "two tenants' doorbells for the same job id are two",
    needs: [],
    async run(site) {
      const driver = await site.driver();
      const [{ job_id }] = doorbells(1) as [Doorbell];
      const sent = [
        { job_id, tenant_id: "acme" },
        { job_id, tenant_id: "globex" },
      ];
      await site.ring(main, sent);
      assert.deepEqual([...(await collect(driver, { count: 2 })).keys()].sort(), namesOf(sent));
    },
  },
  {
    title: "concurrent receivers, in one process and in two, share without doubling",
    needs: [],
    async run(site) {
      const [one, other] = [await site.driver(), await site.driver()];
      const sent = doorbells(300);
      let arrived = 0;
      const onDelivery = (): void => {
        arrived += 1;
      };
      const stop = new AbortController();
      const collecting = [one, one, one, other, other].map((driver) =>
        meanwhile(collect(driver, { max: 20, onDelivery, stop: stop.signal })),
      );
      for (let at = 0; at < 300; at += 50) await site.ring(main, sent.slice(at, at + 50));
      for (const until = performance.now() + arriveWithinMs; arrived < 300; await delay(20))
        assert.ok(performance.now() < until, `${arrived} of 300 came within ${arriveWithinMs} ms`);
      await delay(500);
      stop.abort();
      const names = (await Promise.all(collecting)).flatMap((tally) => [...tally.keys()]);
      assert.deepEqual([...new Set(names)].sort(), namesOf(sent));
      assert.equal(arrived, 300);
    },
  },
  {
    title: "a receive on an empty queue ends when its time is up, and not long after",
    needs: [],
    async run(site) {
      const driver = await site.driver();
      const { tookMs, value } = await timed(driver.receive({ lanes: [main], max: 10, waitMs: 500, signal: never }));
      assert.deepEqual(value, []);
      assert.ok(tookMs < 5_000, `it took ${tookMs} ms`);
      const short = await timed(driver.receive({ lanes: [main, second], max: 10, waitMs: 0, signal: never }));
      assert.ok(short.tookMs < 3_000, `without waiting it took ${short.tookMs} ms`);
    },
  },
  {
    title: "an abort ends a receive within about a second, and what comes then is not lost",
    needs: [],
    async run(site) {
      const driver = await site.driver();
      const abort = new AbortController();
      // The first call may have to connect.
      await driver.receive({ lanes: [main, second], max: 10, waitMs: 0, signal: never });
      const receiving = meanwhile(
        driver.receive({ lanes: [main, second], max: 10, waitMs: 60_000, signal: abort.signal }),
      );
      await delay(300);
      const abortedAt = performance.now();
      abort.abort();
      assert.deepEqual(await within("an aborted receive", 5_000, receiving), []);
      const tookMs = performance.now() - abortedAt;
      assert.ok(tookMs < 2_000, `it took ${Math.round(tookMs)} ms`);
      const aborted = await timed(driver.receive({ lanes: [main], max: 10, waitMs: 60_000, signal: abort.signal }));
      assert.ok(aborted.tookMs < 2_000, `aborted before, it took ${aborted.tookMs} ms`);
      const [bell] = doorbells(1) as [Doorbell];
      await site.ring(main, [bell]);
      const withinMs = arriveWithinMs + 3 * site.place.redeliverMs;
      assert.deepEqual([...(await collect(driver, { count: 1, forMs: withinMs })).keys()], [nameOf(bell)]);
    },
  },
  {
    title: "an abort in the middle of traffic loses nothing that was given out or is still there",
    needs: ["redelivers"],
    async run(site) {
      const driver = await site.driver();
      const sent = doorbells(60);
      const got = new Set<string>();
      for (let at = 0; at < 60; at += 10) {
        const abort = new AbortController();
        const receiving = meanwhile(driver.receive({ lanes: [main], max: 5, waitMs: 10_000, signal: abort.signal }));
        await site.ring(main, sent.slice(at, at + 10));
        abort.abort();
        const deliveries = await within("an aborted receive", 5_000, receiving);
        for (const { body } of deliveries) got.add(nameOf(asDoorbell(body) as Doorbell));
        await driver.ack(deliveries);
      }
      const forMs = arriveWithinMs + 3 * site.place.redeliverMs;
      const rest = await collect(driver, { count: 60 - got.size, forMs });
      assert.deepEqual([...got, ...rest.keys()].sort(), namesOf(sent));
    },
  },
  {
    title: "what is not acknowledged comes again after the redelivery time, and not before",
    needs: ["redelivers"],
    async run(site) {
      const { redeliverMs } = site.place;
      const driver = await site.driver();
      const sent = doorbells(5);
      await site.ring(main, sent);
      const at = performance.now();
      assert.equal((await collect(driver, { count: 5, ack: false })).size, 5);
      const again = await collect(driver, { count: 5, forMs: 3 * redeliverMs + arriveWithinMs });
      const tookMs = performance.now() - at;
      assert.deepEqual([...again.keys()].sort(), namesOf(sent));
      assert.ok(tookMs >= redeliverMs * 0.5, `it came again after ${Math.round(tookMs)} ms`);
      assert.equal((await collect(driver, { forMs: 1.5 * redeliverMs })).size, 0);
    },
  },
  {
    title: "what a process had received when it died comes to another one",
    needs: ["redelivers"],
    async run(site) {
      const [dying, living] = [await site.driver(), await site.driver()];
      const sent = doorbells(5);
      await site.ring(main, sent);
      await collect(dying, { count: 5, ack: false });
      await dying.close();
      const again = await collect(living, { count: 5, forMs: 3 * site.place.redeliverMs + arriveWithinMs });
      assert.deepEqual([...again.keys()].sort(), namesOf(sent));
    },
  },
  {
    title: "an acknowledgement may be repeated, also long after",
    needs: [],
    async run(site) {
      const driver = await site.driver();
      await site.ring(main, doorbells(3));
      const deliveries: Delivery[] = [];
      await collect(driver, { count: 3, ack: false, onDelivery: (delivery) => deliveries.push(delivery) });
      await driver.ack(deliveries);
      await driver.ack(deliveries);
      await Promise.all([driver.ack(deliveries), driver.ack(deliveries)]);
      const [bell] = doorbells(1) as [Doorbell];
      await site.ring(main, [bell]);
      assert.deepEqual([...(await collect(driver, { count: 1 })).keys()], [nameOf(bell)]);
      await driver.ack(deliveries);
    },
  },
  {
    title: "an acknowledgement that comes after the redelivery is no error, and the driver goes on",
    needs: ["redelivers"],
    async run(site) {
      const { redeliverMs } = site.place;
      const driver = await site.driver();
      await site.ring(main, doorbells(1));
      const early = await receiveSome(driver);
      const late: Delivery[] = [];
      const onDelivery = (delivery: Delivery): void => void late.push(delivery);
      await collect(driver, { count: 1, ack: false, forMs: 3 * redeliverMs + arriveWithinMs, onDelivery });
      await driver.ack(early);
      await driver.ack(late);
      await driver.ack(early);
      assert.equal((await collect(driver, { forMs: 1.5 * redeliverMs })).size, 0);
      const [bell] = doorbells(1) as [Doorbell];
      await site.ring(main, [bell]);
      assert.deepEqual([...(await collect(driver, { count: 1 })).keys()], [nameOf(bell)]);
    },
  },
  {
    title: "junk comes as deliveries that are no doorbells, is acknowledged like them, and stops nothing",
    needs: ["inject"],
    async run(site) {
      const driver = await site.driver();
      await driver.receive({ lanes: [main], max: 1, waitMs: 0, signal: never });
      const huge = new Uint8Array(site.place.messageMaxBytes ?? 100_000).fill(120);
      let injected = 0;
      for (const [, bytes] of [...junk, ["huge", huge] as const]) {
        if (await site.inject(main, bytes)) injected += 1;
      }
      assert.ok(injected >= junk.length / 2, `the broker took ${injected} messages`);
      const sent = doorbells(3);
      await site.ring(main, sent);
      let dropped = 0;
      const onDelivery = ({ body }: Delivery): void => {
        if (asDoorbell(body) === null) dropped += 1;
      };
      const { tookMs, value } = await timed(collect(driver, { count: 3, max: 5, onDelivery }));
      assert.deepEqual([...value.keys()].sort(), namesOf(sent));
      assert.ok(tookMs < 5_000, `the doorbells behind the junk took ${tookMs} ms`);
      await collect(driver, { forMs: Math.max(1_000, 1.5 * site.place.redeliverMs), onDelivery });
      assert.ok(dropped >= injected, `${dropped} of ${injected} came`);
      assert.ok(dropped <= injected * copiesMax, `${injected} came ${dropped} times`);
    },
  },
  {
    title: "through the queue, junk is dropped and counted, and good doorbells beside it arrive",
    needs: ["inject"],
    async run(site) {
      const metrics = createMetrics();
      const warnings: string[] = [];
      const quiet = () => {};
      const log = { debug: quiet, info: quiet, error: quiet, warn: (text: string) => void warnings.push(text) };
      const queue = new Queue(await site.driver(), { metrics, log });
      await queue.receive({ lanes: [main], max: 1, waitMs: 0, signal: never });
      for (let round = 0; round < 20; round += 1) await site.inject(main, bytesOf("hello"));
      const sent = doorbells(3);
      await site.ring(main, sent);
      const got = new Set<string>();
      const until = performance.now() + Math.max(3_000, 1.5 * site.place.redeliverMs);
      while (performance.now() < until) {
        const received = await queue.receive({ lanes: [main], max: 10, waitMs: 500, signal: never });
        for (const doorbell of received.doorbells) got.add(nameOf(doorbell));
        await received.ack();
      }
      assert.deepEqual([...got].sort(), namesOf(sent));
      assert.equal(warnings.length, 1);
      const text = (await metrics.expose()).body;
      const counted = Number(/doorbell_doorbells_dropped_total\{reason="junk"\} (\d+)/.exec(text)?.[1]);
      assert.ok(counted >= 20 && counted <= 20 * copiesMax, `${counted} were counted`);
      metrics.close();
    },
  },
  {
    title: "a queue that was deleted under its drivers is made again",
    needs: ["wipe"],
    async run(site) {
      const driver = await site.driver();
      for (let round = 0; round < 2; round += 1) {
        await site.ringUntilTaken(main, doorbells(3));
        await collect(driver, { count: 3, tolerant: true });
        await site.ringUntilTaken(main, doorbells(3));
        await site.wipe();
        const [bell] = doorbells(1) as [Doorbell];
        await site.ringUntilTaken(main, [bell]);
        const names: string[] = [];
        for (const until = performance.now() + arriveWithinMs; !names.includes(nameOf(bell)); ) {
          assert.ok(performance.now() < until, "the doorbell after the deletion did not come");
          names.push(...(await collect(driver, { forMs: 500, tolerant: true })).keys());
        }
      }
    },
  },
  {
    title: "a queue that is deleted while a receiver waits is made again for that receiver",
    needs: ["wipe"],
    async run(site) {
      const driver = await site.driver();
      await site.ringUntilTaken(main, doorbells(1));
      await collect(driver, { count: 1 });
      const waiting = meanwhile(collect(driver, { count: 1, tolerant: true }));
      await delay(300);
      await site.wipe();
      await delay(300);
      await site.ringUntilTaken(main, doorbells(1));
      await waiting;
    },
  },
  {
    title: "an acknowledgement after the queue was deleted is no error",
    needs: ["wipe"],
    async run(site) {
      const driver = await site.driver();
      await site.ring(main, doorbells(2));
      const deliveries = await receiveSome(driver);
      await site.wipe();
      await untilFulfilled("an acknowledgement", () => driver.ack(deliveries));
    },
  },
  {
    title: "after close every call is refused, a receive under way ends, and a second close is no error",
    needs: [],
    async run(site) {
      const driver = await site.driver();
      const receiving = driver.receive({ lanes: [main], max: 10, waitMs: 60_000, signal: never });
      const ended = receiving.then(
        () => "ended",
        () => "ended",
      );
      await delay(300);
      await within("close", 10_000, driver.close());
      assert.equal(await within("the receive under way", 5_000, ended), "ended");
      await within("a second close", 5_000, driver.close());
      await refused(driver, (closed) => closed.send(main, doorbells(1)));
      await refused(driver, (closed) => closed.receive({ lanes: [main], max: 1, waitMs: 1_000, signal: never }));
    },
  },
  {
    title: "a driver that was never used closes at once",
    needs: [],
    async run(site) {
      await within("close", 5_000, (await site.driver()).close());
    },
  },
  {
    title: "while the server is away calls fail and do not hang, and once it is back the same driver works",
    needs: ["server"],
    async run(site) {
      const [sender, receiver] = [await site.driver(), await site.driver()];
      await sender.send(main, doorbells(1));
      await collect(receiver, { count: 1 });
      await site.server.stop();
      await fails("a send to a server that is away", sender.send(main, doorbells(1)));
      const asked = receiver.receive({ lanes: [main], max: 1, waitMs: 500, signal: never });
      await fails("a receive from a server that is away", asked);
      await site.server.start();
      const sent = doorbells(5);
      await untilFulfilled("a send", () => sender.send(main, sent));
      const tally = await collect(receiver, { count: 5, forMs: 20_000, tolerant: true });
      for (const name of namesOf(sent)) assert.ok(tally.has(name), `${name} did not come`);
    },
  },
  {
    title: "a driver that is opened while the server is away works once it is there",
    needs: ["server"],
    async run(site) {
      await site.server.stop();
      const driver = await within("opening a driver", 10_000, site.driver());
      await fails("a send to a server that is away", driver.send(main, doorbells(1)));
      await site.server.start();
      const [bell] = doorbells(1) as [Doorbell];
      await untilFulfilled("a send", () => driver.send(main, [bell]));
      const tally = await collect(driver, { count: 1, forMs: 20_000, tolerant: true });
      assert.ok(tally.has(nameOf(bell)));
    },
  },
  {
    title: "a restart of an idle server is survived by a receiver that waits",
    needs: ["server"],
    async run(site) {
      const driver = await site.driver();
      await site.ring(main, doorbells(1));
      await collect(driver, { count: 1 });
      const waiting = meanwhile(collect(driver, { count: 1, forMs: 30_000, tolerant: true }));
      await delay(300);
      await site.server.stop();
      await delay(300);
      await site.server.start();
      await site.ringUntilTaken(main, doorbells(1));
      await waiting;
    },
  },
  {
    title: "a restart of a busy server stops nobody: what is rung after it arrives, and nothing comes without end",
    needs: ["server"],
    async run(site) {
      const [sender, receiver] = [await site.driver(), await site.driver()];
      const came = new Map<string, number>();
      const stop = new AbortController();
      const receiving = meanwhile(
        (async () => {
          while (!stop.signal.aborted) {
            const tally = await collect(receiver, { forMs: 300, max: 20, tolerant: true });
            for (const [name, copies] of tally) came.set(name, (came.get(name) ?? 0) + copies);
          }
        })(),
      );
      const sending = meanwhile(
        (async () => {
          while (!stop.signal.aborted) {
            await within("a send", 15_000, sender.send(main, doorbells(10))).catch((error: unknown) => {
              if (error instanceof assert.AssertionError) throw error;
            });
            await delay(20);
          }
        })(),
      );
      await delay(500);
      await site.server.stop();
      await delay(200);
      await site.server.start();
      await untilFulfilled("a send", () => sender.send(main, doorbells(1)));
      const [bell] = doorbells(1) as [Doorbell];
      await untilFulfilled("a send", () => sender.send(main, [bell]));
      for (const until = performance.now() + 20_000; !came.has(nameOf(bell)); await delay(50))
        assert.ok(performance.now() < until, "a doorbell that was rung after the restart did not come");
      stop.abort();
      await Promise.all([receiving, sending]);
      for (const [name, copies] of came) assert.ok(copies <= 5, `${name} came ${copies} times`);
    },
  },
  {
    title: "an orderly restart of the server loses no doorbell that it had taken",
    needs: ["server", "durable"],
    async run(site) {
      const driver = await site.driver();
      const sent = doorbells(50);
      await site.ring(main, sent);
      await site.server.stop();
      await site.server.start();
      const tally = await collect(driver, { count: 50, forMs: 30_000, tolerant: true });
      assert.deepEqual([...tally.keys()].sort(), namesOf(sent));
    },
  },
];

/** Awaited later: until then its failure is nobody's, and must not end the process. */
function meanwhile<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

async function refused(driver: QueueDriver, call: (driver: QueueDriver) => Promise<unknown>): Promise<void> {
  await within("a call after close", 5_000, assert.rejects(call(driver), { code: "closed" }));
}

/** A call that settles with an error. What it may not do is hang, or claim to have worked. */
async function fails(what: string, call: Promise<unknown>): Promise<void> {
  await within(
    what,
    15_000,
    assert.rejects(call, (error) => error instanceof Error),
  );
}

async function timed<T>(promise: Promise<T>): Promise<{ readonly tookMs: number; readonly value: T }> {
  const startedAt = performance.now();
  const value = await within("the call", 30_000, promise);
  return { value, tookMs: Math.round(performance.now() - startedAt) };
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
