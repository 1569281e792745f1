import { afterEach, expect, test, vi } from "vitest";
import { systemClock } from "./clock.ts";

afterEach(() => {
  vi.useRealTimers();
});

test("a timer of sixty days fires after sixty days, and not before", () => {
  vi.useFakeTimers();
  const fired = vi.fn();
  systemClock.setTimer(60 * 86_400_000, fired);
  vi.advanceTimersByTime(60 * 86_400_000 - 1);
  expect(fired).not.toHaveBeenCalled();
  vi.advanceTimersByTime(2);
  expect(fired).toHaveBeenCalledTimes(1);
  expect(vi.getTimerCount()).toBe(0);
});

test("a cancelled timer never fires, also in its second stretch", () => {
  vi.useFakeTimers();
  const fired = vi.fn();
  const cancel = systemClock.setTimer(30 * 86_400_000, fired);
  vi.advanceTimersByTime(28 * 86_400_000);
  cancel();
  cancel();
  vi.advanceTimersByTime(40 * 86_400_000);
  expect(fired).not.toHaveBeenCalled();
});

test("a timer does not fire early by the monotonic clock", async () => {
  const startedAtMs = systemClock.monotonicMs();
  await new Promise<void>((resolve) => {
    systemClock.setTimer(20, resolve);
  });
  expect(systemClock.monotonicMs() - startedAtMs).toBeGreaterThanOrEqual(19.5);
});

test("a negative delay fires soon", async () => {
  await new Promise<void>((resolve) => {
    systemClock.setTimer(-5, resolve);
  });
});
