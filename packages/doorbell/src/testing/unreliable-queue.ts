// Stands between a queue driver and everything else, and does what queues do on bad days: doubles doorbells, loses them,
// brings them late and in another order. What must survive it is the claim, the sweeper, and nothing of what depends on
// luck.
import type { Delivery, QueueDriver, ReceiveRequest } from "../queue/driver.ts";

export interface UnreliableQueueOptions {
  /** How often each doorbell is delivered. Default 1. */
  readonly copies?: number;
  /** The share of doorbells that never arrive, in [0, 1]. Default 0. */
  readonly lose?: number;
  /** Each is kept back for a time of its own, up to so long. Default 0. */
  readonly delayMaxMs?: number;
  /** What is delivered together comes in any order. Default false. */
  readonly reorder?: boolean;
  /** Numbers in [0, 1), for a run that can be repeated. */
  readonly random?: () => number;
  /** Is told what was lost. */
  readonly onLost?: (deliveries: readonly Delivery[]) => void;
}

/** A copy that has not been delivered yet: for want of room, or because it is late. */
interface Held {
  readonly delivery: Delivery;
  /** Of the request that brought it: only who asks for the same may have it. */
  readonly lanes: string;
  readonly dueAt: number;
}

/**
 * The driver as it is on a bad day. A worker receives from it, also where the driver is the line itself. Give it to
 * `wrapQueue`.
 */
export function unreliableQueue(driver: QueueDriver, options: UnreliableQueueOptions = {}): QueueDriver {
  const { copies = 1, lose = 0, delayMaxMs = 0, reorder = false, random = Math.random } = options;
  let held: Held[] = [];

  const takeDue = (lanes: string, max: number): readonly Delivery[] => {
    const now = performance.now();
    const due = held.filter((one) => one.lanes === lanes && one.dueAt <= now).slice(0, max);
    held = held.filter((one) => !due.includes(one));
    return due.map(({ delivery }) => delivery);
  };

  /** Returns in time for what is due next. */
  const arrive = async (request: ReceiveRequest, lanes: string): Promise<readonly Delivery[]> => {
    const nextAt = Math.min(...held.filter((one) => one.lanes === lanes).map(({ dueAt }) => dueAt));
    const untilNextMs = Math.max(0, Math.ceil(nextAt - performance.now()));
    const arrived = await driver.receive({ ...request, waitMs: Math.min(request.waitMs, untilNextMs) });
    const lost = lose === 0 ? [] : arrived.filter(() => random() < lose);
    if (lost.length === 0) return arrived;
    // Otherwise the driver would deliver them again, and nothing would be lost.
    await driver.ack(lost);
    options.onLost?.(lost);
    return arrived.filter((delivery) => !lost.includes(delivery));
  };

  return {
    name: `unreliable ${driver.name}`,
    capabilities: { ...driver.capabilities, line: false },
    send: (lane, doorbells) => driver.send(lane, doorbells),
    async receive(request) {
      const lanes = request.lanes.join();
      const due = takeDue(lanes, request.max);
      if (due.length > 0) return due;
      const kept = await arrive(request, lanes);
      const rung = Array.from({ length: copies }, () => kept).flat();
      for (const delivery of reorder ? shuffled(rung, random) : rung) {
        const dueAt = delayMaxMs === 0 ? 0 : performance.now() + random() * delayMaxMs;
        held.push({ delivery, lanes, dueAt });
      }
      return takeDue(lanes, request.max);
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
