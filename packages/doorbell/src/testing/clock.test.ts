import { expect, test } from "vitest";
import { manualClock } from "./clock.ts";

test("timers fire in the order of their instants, each at its own", async () => {
  const clock = manualClock(new Date(0));
  const fired: [string, number][] = [];
  clock.setTimer(30, () => fired.push(["late", clock.now().getTime()]));
  clock.setTimer(10, () => fired.push(["early", clock.now().getTime()]));
  clock.setTimer(10, () => fired.push(["second of the same instant", clock.monotonicMs()]));
  await clock.advance(29);
  expect(fired).toEqual([
    ["early", 10],
    ["second of the same instant", 10],
  ]);
  await clock.advance(1);
  expect(fired.at(-1)).toEqual(["late", 30]);
  expect(clock.pendingTimers).toBe(0);
});

test("a loop of promises and timers runs within one advance", async () => {
  const clock = manualClock(new Date(0));
  const ticks: number[] = [];
  const loop = async (): Promise<void> => {
    for (let count = 0; count < 3; count += 1) {
      await new Promise<void>((resolve) => {
        clock.setTimer(100, resolve);
      });
      ticks.push(clock.monotonicMs());
    }
  };
  const ended = loop();
  await clock.advance(1_000);
  await ended;
  expect(ticks).toEqual([100, 200, 300]);
  expect(clock.monotonicMs()).toBe(1_000);
});

test("a timer that was taken back does not fire", async () => {
  const clock = manualClock();
  let fired = false;
  const cancel = clock.setTimer(1, () => {
    fired = true;
  });
  cancel();
  await clock.advance(10);
  expect(fired).toBe(false);
});

test("a wall clock that steps back an hour moves no timer", async () => {
  const clock = manualClock(new Date("2027-01-01T12:00:00Z"));
  let firedAtMs = -1;
  clock.setTimer(60_000, () => {
    firedAtMs = clock.monotonicMs();
  });
  clock.setNow(new Date("2027-01-01T11:00:00Z"));
  await clock.advance(60_000);
  expect(firedAtMs).toBe(60_000);
  expect(clock.now()).toEqual(new Date("2027-01-01T11:01:00Z"));
});
