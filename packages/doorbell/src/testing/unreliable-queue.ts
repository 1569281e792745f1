// Stands between a queue driver and everything else, and does what queues do on bad days: doubles doorbells, loses them,
// gives them out in another order. What must survive it is the claim, the sweeper, and nothing of what depends on luck.
import type { Delivery, QueueDriver } from "../queue/driver.ts";

export interface UnreliableQueueOptions {
  /** How often each doorbell is delivered. Default 1. */
  readonly copies?: number;
  /** The share of doorbells that never arrive, in [0, 1]. Default 0. */
  readonly lose?: number;
  /** What is delivered together comes in any order. Default false. */
  readonly reorder?: boolean;
  /** Numbers in [0, 1), for a run that can be repeated. */
  readonly random?: () => number;
}

/**
 * The driver as it is on a bad day. A worker receives from it, also where the driver is the line itself. Give it to
 * `wrapQueue`.
 */
export function unreliableQueue(driver: QueueDriver, options: UnreliableQueueOptions = {}): QueueDriver {
  const { copies = 1, lose = 0, reorder = false, random = Math.random } = options;
  /** Copies for which there was no room; they are the next to come. */
  let held: Delivery[] = [];

  const giveOut = (deliveries: readonly Delivery[], max: number): readonly Delivery[] => {
    held = deliveries.slice(max);
    return deliveries.slice(0, max);
  };

  return {
    name: `unreliable ${driver.name}`,
    capabilities: { ...driver.capabilities, line: false },
    send: (lane, doorbells) => driver.send(lane, doorbells),
    async receive(request) {
      if (held.length > 0) return giveOut(held, request.max);
      const arrived = await driver.receive(request);
      const lost = lose === 0 ? [] : arrived.filter(() => random() < lose);
      // Otherwise the driver would deliver them again, and nothing would be lost.
      if (lost.length > 0) await driver.ack(lost);
      const kept = arrived.filter((delivery) => !lost.includes(delivery));
      const rung = Array.from({ length: copies }, () => kept).flat();
      return giveOut(reorder ? shuffled(rung, random) : rung, request.max);
    },
    ack: (deliveries) => driver.ack(deliveries),
    close: () => driver.close(),
  };
}

function shuffled<T>(items: readonly T[], random: () => number): readonly T[] {
  return items
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
