// What a queue driver brings to its conformance suite, and what the suite does with it again and again: open drivers on
// fresh names, ring, collect what arrives. The cases are in queue-suite.ts and, with faults on the way, in queue-faults.ts.
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { newId } from "../core/ids.ts";
import type { Delivery, Doorbell, QueueDriver } from "../queue/driver.ts";
import { asDoorbell } from "../queue/queue.ts";

/**
 * What a case may need. `redelivers`: what is not acknowledged comes again. `inject`: raw messages can be put in. `wipe`:
 * the queue can be deleted under its drivers. `server`: the server can be stopped and started. `durable`: an orderly
 * restart of the server keeps its messages.
 */
export type QueueNeed = "redelivers" | "inject" | "wipe" | "server" | "durable";

/** One queue with fresh names: nothing else is in it, and nothing else reads it. */
export interface QueuePlace {
  /** A driver of its own on this place, as another process would have it. The suite closes it. */
  open(): Promise<QueueDriver>;
  /** How doorbells get in, where it is not by the driver's `send`. */
  ring?(lane: string, doorbells: readonly Doorbell[]): Promise<void>;
  /** How long an unacknowledged delivery is out before it comes again; short, as 2,000. Any number where none comes. */
  readonly redeliverMs: number;
  /** The largest message that is to be tried. Default 100,000. */
  readonly messageMaxBytes?: number;
  /** Puts a raw message in a lane, past the driver. False: this broker takes no such message (an empty one, say). */
  inject?(lane: string, bytes: Uint8Array): Promise<boolean>;
  /** Deletes the queue with all that is in it, past the drivers: streams, groups, queues. */
  wipe?(): Promise<void>;
  /** The server; it is started again on the same address, with its data. */
  readonly server?: { stop(): Promise<void>; start(): Promise<void> };
  /** Frees what the place holds. The suite calls it once, after it has closed the drivers. */
  close(): Promise<void>;
}

export interface QueueUnderTest {
  /** What this queue cannot do, or its test cannot do to it, and why. A case that needs it is skipped, with this reason. */
  readonly lacks: Readonly<Partial<Record<QueueNeed, string>>>;
  place(): Promise<QueuePlace>;
}

/** A case as a test runner wants it. `skip`: why it cannot be run against this queue; null when it can. */
export interface QueueTest {
  readonly title: string;
  readonly skip: string | null;
  /** It stops the server or deletes queues: others may not run meanwhile. The rest mostly wait, and may run together. */
  readonly alone: boolean;
  run(): Promise<void>;
}

export interface QueueCase {
  readonly title: string;
  readonly needs: readonly QueueNeed[];
  run(site: Site): Promise<void>;
}

export function testsOf(cases: readonly QueueCase[], queue: QueueUnderTest): readonly QueueTest[] {
  return cases.map(({ title, needs, run }) => ({
    title,
    skip: needs.map((need) => queue.lacks[need]).find((reason) => reason !== undefined) ?? null,
    alone: needs.includes("server") || needs.includes("wipe"),
    run: async () => {
      const site = new Site(await queue.place(), queue.lacks);
      try {
        await run(site);
      } finally {
        await site.close();
      }
    },
  }));
}

/** The lanes that the suite uses. A queue where lanes have to be made makes these. */
export const suiteLanes = { main: "default", second: "mail", third: "slow-lane_2" } as const;

/** What the suite waits for a doorbell at most. A driver has it in milliseconds; a busy machine may take longer. */
export const arriveWithinMs = 10_000;

/** A place with the drivers that a case has opened on it. */
export class Site {
  readonly place: QueuePlace;
  readonly lacks: QueueUnderTest["lacks"];
  readonly #drivers: QueueDriver[] = [];
  #sender: Promise<QueueDriver> | null = null;

  constructor(place: QueuePlace, lacks: QueueUnderTest["lacks"]) {
    this.place = place;
    this.lacks = lacks;
  }

  async driver(): Promise<QueueDriver> {
    const driver = await this.place.open();
    this.#drivers.push(driver);
    return driver;
  }

  async ring(lane: string, doorbells: readonly Doorbell[]): Promise<void> {
    if (this.place.ring) return await this.place.ring(lane, doorbells);
    this.#sender ??= this.driver();
    await (await this.#sender).send(lane, doorbells);
  }

  /** As the ringer and the sweeper do it: what was refused is rung again, until it is taken. */
  async ringUntilTaken(lane: string, doorbells: readonly Doorbell[]): Promise<void> {
    await untilFulfilled("a doorbell is taken", () => this.ring(lane, doorbells));
  }

  inject(lane: string, bytes: Uint8Array): Promise<boolean> {
    assert.ok(this.place.inject, "this place can inject");
    return this.place.inject(lane, bytes);
  }

  wipe(): Promise<void> {
    assert.ok(this.place.wipe, "this place can wipe");
    return this.place.wipe();
  }

  get server(): { stop(): Promise<void>; start(): Promise<void> } {
    assert.ok(this.place.server, "this place has a server");
    return this.place.server;
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#drivers.map((driver) => within("close", 10_000, driver.close())));
    await this.place.close();
  }
}

/** Every doorbell that arrived, as text, and how often. */
export type Tally = Map<string, number>;

export interface Collecting {
  readonly lanes?: readonly string[];
  /** Ends when so many different doorbells are there. Default: goes on to the end of `forMs`. */
  readonly count?: number;
  /** Fails, if `count` is given, or ends after so long. */
  readonly forMs?: number;
  readonly max?: number;
  /** Default true. */
  readonly ack?: boolean;
  /** The driver's errors are waited out, as the receiver of a worker does. Default false: they fail the case. */
  readonly tolerant?: boolean;
  /** Ends it early. */
  readonly stop?: AbortSignal;
  /** Sees every delivery. */
  readonly onDelivery?: (delivery: Delivery) => void;
}

/** Receives, and acknowledges at once. Junk is acknowledged and not counted. */
export async function collect(driver: QueueDriver, options: Collecting = {}): Promise<Tally> {
  const { lanes = [suiteLanes.main], count, forMs = arriveWithinMs, max = 100, ack = true, tolerant = false } = options;
  const tally: Tally = new Map();
  const until = performance.now() + forMs;
  const signal = options.stop ?? new AbortController().signal;
  while (tally.size < (count ?? Number.POSITIVE_INFINITY) && !signal.aborted) {
    const leftMs = until - performance.now();
    if (leftMs <= 0) {
      assert.equal(count, undefined, `${tally.size} of ${count} doorbells came within ${forMs} ms`);
      break;
    }
    try {
      const receiving = driver.receive({ lanes, max, waitMs: Math.min(1_000, Math.ceil(leftMs)), signal });
      const deliveries = await within("receive", 15_000, receiving);
      assert.ok(deliveries.length <= max, `${deliveries.length} deliveries where at most ${max} were asked for`);
      for (const delivery of deliveries) {
        options.onDelivery?.(delivery);
        const doorbell = asDoorbell(delivery.body);
        if (doorbell !== null) tally.set(nameOf(doorbell), (tally.get(nameOf(doorbell)) ?? 0) + 1);
      }
      if (ack && deliveries.length > 0) await within("ack", 15_000, driver.ack(deliveries));
    } catch (error) {
      if (!tolerant || error instanceof assert.AssertionError) throw error;
      await delay(100);
    }
  }
  return tally;
}

/** One receive, that fails when nothing comes. Nothing is acknowledged. */
export async function receiveSome(driver: QueueDriver): Promise<readonly Delivery[]> {
  const { signal } = new AbortController();
  const until = performance.now() + arriveWithinMs;
  for (;;) {
    const deliveries = await driver.receive({ lanes: [suiteLanes.main], max: 100, waitMs: 1_000, signal });
    if (deliveries.length > 0) return deliveries;
    assert.ok(performance.now() < until, `nothing came within ${arriveWithinMs} ms`);
  }
}

export function doorbells(count: number, tenant = "acme"): readonly Doorbell[] {
  return Array.from({ length: count }, () => ({ job_id: newId(), tenant_id: tenant }));
}

export function nameOf(doorbell: Doorbell): string {
  return JSON.stringify([doorbell.tenant_id, doorbell.job_id]);
}

export function namesOf(list: readonly Doorbell[]): readonly string[] {
  return list.map(nameOf).sort();
}

/** Fails when the promise has not settled after so long: a call that hangs is a fault of its own. */
export async function within<T>(what: string, limitMs: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new assert.AssertionError({ message: `${what} took over ${limitMs} ms` })),
      limitMs,
    );
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Tries again until it works. No single try may hang. */
export async function untilFulfilled<T>(what: string, call: () => Promise<T>, limitMs = 20_000): Promise<T> {
  const until = performance.now() + limitMs;
  for (;;) {
    try {
      return await within(what, 15_000, call());
    } catch (error) {
      if (error instanceof assert.AssertionError || performance.now() > until) throw error;
      await delay(100);
    }
  }
}
