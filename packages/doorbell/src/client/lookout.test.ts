import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Lookout } from "./lookout.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("transactions that come in quick succession do not put the look off for ever", async () => {
  const woken: string[] = [];
  const query = async (_: string, params: readonly unknown[] = []): Promise<readonly never[]> =>
    (JSON.parse(String(params[0])) as string[]).map((xid) => ({ xid, status: "committed" })) as never;
  const lookout = new Lookout({ query }, (lane) => woken.push(lane));
  for (let n = 0; n < 100; n += 1) {
    lookout.watch(String(n), "default");
    await vi.advanceTimersByTimeAsync(1);
  }
  expect(woken.length).toBeGreaterThan(80);
  lookout.close();
});
