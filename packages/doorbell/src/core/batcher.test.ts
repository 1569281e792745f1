import { expect, test } from "vitest";
import { createBatcher } from "./batcher.ts";

const gate = () => {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
};

test("a lone call goes at once; what comes while a batch is under way goes together in the next", async () => {
  const batches: number[][] = [];
  const first = gate();
  const call = createBatcher<number, number>({
    batchMax: 100,
    inFlightMax: 1,
    splits: () => false,
    run: async (items) => {
      batches.push([...items]);
      if (batches.length === 1) await first.opened;
      return items.map((item) => item * 2);
    },
  });
  const one = call(1);
  await Promise.resolve();
  const others = [2, 3, 4].map((n) => call(n));
  first.open();
  expect(await Promise.all([one, ...others])).toEqual([2, 4, 6, 8]);
  expect(batches).toEqual([[1], [2, 3, 4]]);
});

test("a batch that fails because of one item is tried item by item, so that only that one fails", async () => {
  const call = createBatcher<number, number>({
    batchMax: 100,
    inFlightMax: 1,
    splits: () => true,
    run: async (items) => {
      if (items.includes(3)) throw new Error("bad item");
      return items;
    },
  });
  const ends = await Promise.allSettled([1, 2, 3, 4].map((n) => call(n)));
  expect(ends.map((end) => end.status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
});

test("a batch that fails for all is not tried again", async () => {
  let runs = 0;
  const call = createBatcher<number, number>({
    batchMax: 100,
    inFlightMax: 1,
    splits: () => false,
    run: async () => {
      runs += 1;
      throw new Error("the database is gone");
    },
  });
  const ends = await Promise.allSettled([call(1), call(2)]);
  expect(ends.every((end) => end.status === "rejected")).toBe(true);
  expect(runs).toBe(1);
});

test("no batch is larger than its bound, and no more are under way than allowed", async () => {
  let underWay = 0;
  let most = 0;
  const call = createBatcher<number, number>({
    batchMax: 3,
    inFlightMax: 2,
    splits: () => false,
    run: async (items) => {
      underWay += 1;
      most = Math.max(most, underWay);
      expect(items.length).toBeLessThanOrEqual(3);
      await new Promise((resolve) => setTimeout(resolve, 1));
      underWay -= 1;
      return items;
    },
  });
  await Promise.all(Array.from({ length: 20 }, (_, n) => call(n)));
  expect(most).toBe(2);
});
