import { describe, expect, test } from "vitest";
import { newId } from "../core/ids.ts";
import type { Delivery, Doorbell } from "../queue/driver.ts";
import { memoryDriver } from "../queue/memory.ts";
import { unreliableQueue } from "./unreliable-queue.ts";

const request = { lanes: ["default"], max: 10, waitMs: 0, signal: new AbortController().signal };
const doorbells = (count: number): readonly Doorbell[] =>
  Array.from({ length: count }, () => ({ job_id: newId(), tenant_id: "acme" }));

describe("an unreliable queue", () => {
  test("delivers every doorbell as often as it was told to, and then no more", async () => {
    const queue = unreliableQueue(memoryDriver(), { copies: 2 });
    const [first, second] = doorbells(2);
    await queue.send("default", [first, second] as Doorbell[]);
    expect((await queue.receive(request)).map(({ body }) => body)).toEqual([first, second, first, second]);
    expect(await queue.receive(request)).toEqual([]);
  });

  test("never delivers more at once than was asked for, and keeps the rest for the next time", async () => {
    const queue = unreliableQueue(memoryDriver(), { copies: 3 });
    const [only] = doorbells(1);
    await queue.send("default", [only as Doorbell]);
    for (let copy = 1; copy <= 3; copy += 1) {
      expect(await queue.receive({ ...request, max: 1 })).toHaveLength(1);
    }
    expect(await queue.receive(request)).toEqual([]);
  });

  test("loses the share that it was told to", async () => {
    const numbers = [0.1, 0.9, 0.2, 0.8];
    const queue = unreliableQueue(memoryDriver(), { lose: 0.5, random: () => numbers.shift() ?? 1 });
    const sent = doorbells(4);
    await queue.send("default", sent);
    expect((await queue.receive(request)).map(({ body }) => body)).toEqual([sent[1], sent[3]]);
  });

  test("gives them out in another order, and all of them", async () => {
    const numbers = [0.9, 0.5, 0.1];
    const queue = unreliableQueue(memoryDriver(), { reorder: true, random: () => numbers.shift() ?? 1 });
    const sent = doorbells(3);
    await queue.send("default", sent);
    const received = (await queue.receive(request)).map(({ body }) => body);
    expect(received).not.toEqual(sent);
    expect(new Set(received)).toEqual(new Set(sent));
  });

  test("keeps each back for a time of its own, and has it within that time", async () => {
    const numbers = [0.1, 0.9];
    const queue = unreliableQueue(memoryDriver(), { delayMaxMs: 200, random: () => numbers.shift() ?? 0 });
    const [early, late] = doorbells(2) as [Doorbell, Doorbell];
    const sentAt = performance.now();
    await queue.send("default", [early, late]);
    const came: { body: unknown; afterMs: number }[] = [];
    while (came.length < 2) {
      const deliveries = await queue.receive({ ...request, waitMs: 1_000 });
      for (const { body } of deliveries) came.push({ body, afterMs: performance.now() - sentAt });
    }
    expect(came.map(({ body }) => body)).toEqual([early, late]);
    expect(came[1]?.afterMs).toBeGreaterThan(150);
    expect(came[1]?.afterMs).toBeLessThan(1_000);
  });

  test("gives what it keeps back to who asks for its lane, and to nobody else", async () => {
    const queue = unreliableQueue(memoryDriver(), { copies: 2 });
    await queue.send("default", doorbells(1));
    expect(await queue.receive({ ...request, max: 1 })).toHaveLength(1);
    expect(await queue.receive({ ...request, lanes: ["other"] })).toEqual([]);
    expect(await queue.receive(request)).toHaveLength(1);
  });

  test("tells what was lost", async () => {
    const lost: unknown[] = [];
    const onLost = (deliveries: readonly Delivery[]): void => void lost.push(...deliveries.map(({ body }) => body));
    const queue = unreliableQueue(memoryDriver(), { lose: 1, onLost });
    const sent = doorbells(2);
    await queue.send("default", sent);
    expect(await queue.receive(request)).toEqual([]);
    expect(lost).toEqual(sent);
  });

  test("makes the worker receive, also where the driver is the line itself", () => {
    const driver = {
      ...memoryDriver(),
      capabilities: { line: true, sent: false, inProcess: false, redelivers: false },
    };
    expect(unreliableQueue(driver).capabilities).toEqual({ ...driver.capabilities, line: false });
  });
});
