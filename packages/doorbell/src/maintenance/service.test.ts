import { expect, test } from "vitest";
import { pauseAfterMs, repeated } from "./service.ts";

const lines: string[] = [];
const log = {
  debug: () => {},
  info: (message: string) => void lines.push(message),
  warn: (message: string) => void lines.push(message),
  error: () => {},
};

const passes = (limit: number) => {
  let resolve!: () => void;
  const reached = new Promise<void>((done) => {
    resolve = done;
  });
  let count = 0;
  const next = (): number => {
    count += 1;
    if (count >= limit) resolve();
    return count;
  };
  return { reached, next };
};

test("a pass that throws does not end the service, and is said once in a row of failures", async () => {
  lines.length = 0;
  const { reached, next } = passes(5);
  const service = repeated({
    name: "tester",
    everyMs: 1,
    log,
    run: async () => {
      if (next() < 4) throw new Error("no");
    },
  });
  service.start();
  await reached;
  await service.stop();
  expect(lines).toEqual(["tester failed; it is tried again", "tester works again"]);
});

test("a pass without anything to do, after one that failed, does not count as working again", async () => {
  lines.length = 0;
  const { reached, next } = passes(6);
  const service = repeated({
    name: "tester",
    everyMs: 1,
    log,
    run: async () => {
      const pass = next();
      if (pass % 2 === 0 && pass < 5) throw new Error("no");
      return pass < 5 ? "idle" : undefined;
    },
  });
  service.start();
  await reached;
  await service.stop();
  expect(lines).toEqual(["tester failed; it is tried again", "tester works again"]);
});

test("wake makes the next pass now, and stop waits for the one that runs", async () => {
  const { reached, next } = passes(2);
  let running = false;
  const service = repeated({
    name: "tester",
    everyMs: 3_600_000,
    log,
    run: async () => {
      running = true;
      next();
      await new Promise((resolve) => setTimeout(resolve, 5));
      running = false;
    },
  });
  service.start();
  service.wake();
  await reached;
  await service.stop();
  expect(running).toBe(false);
  await service.stop();
});

test("fifty starts and stops at once leave nothing running", async () => {
  let count = 0;
  const services = Array.from({ length: 50 }, () =>
    repeated({
      name: "tester",
      everyMs: 0,
      log,
      run: async () => {
        count += 1;
      },
    }),
  );
  for (const service of services) {
    service.start();
    service.start();
  }
  await Promise.all(services.flatMap((service) => [service.stop(), service.stop()]));
  const after = count;
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(count).toBe(after);
});

test.each([
  ["short", 10, 5_000],
  ["long", 500, 9_500],
  ["that hung for a minute", 60_000, 20_000],
])("after a pass that was %s (%i ms) it pauses for %i ms", (_name, tookMs, pauseMs) => {
  expect(pauseAfterMs(tookMs, 5_000, 0.05)).toBe(pauseMs);
});
