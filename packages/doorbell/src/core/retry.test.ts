import fc from "fast-check";
import { expect, test } from "vitest";
import { defaultRetryPolicy, exponential, fixed, linear, resolveRetryPolicy, retryDelayMs } from "./retry.ts";

const noJitter = () => 0;

test("exponential doubles from the base up to the maximum", () => {
  const backoff = exponential({ base: "2s", max: "10s", jitter: 0 });
  expect([1, 2, 3, 4, 5].map((attempt) => backoff(attempt, noJitter))).toEqual([2_000, 4_000, 8_000, 10_000, 10_000]);
});

test("linear grows by the base, fixed does not grow", () => {
  expect([1, 2, 3].map((attempt) => linear({ base: 100, jitter: 0 })(attempt, noJitter))).toEqual([100, 200, 300]);
  expect([1, 2, 3].map((attempt) => fixed({ base: 100, jitter: 0 })(attempt, noJitter))).toEqual([100, 100, 100]);
});

test("jitter shortens by at most its share and spreads also what has reached the maximum", () => {
  const backoff = exponential({ base: 1_000, max: 1_000, jitter: 0.5 });
  expect(backoff(9, () => 0)).toBe(1_000);
  expect(backoff(9, () => 0.5)).toBe(750);
  expect(backoff(9, () => 0.999)).toBeCloseTo(500, -1);
});

test("every attempt number and every random source gives a finite delay within [0, max]", () => {
  const shapes = fc.constantFrom(exponential, linear, fixed);
  const ms = fc.integer({ min: 0, max: 315_000_000_000 });
  const attempts = fc.oneof(fc.integer(), fc.double(), fc.constantFrom(Number.NaN, Infinity, -Infinity));
  const numbers = fc.oneof(fc.double({ min: 0, max: 1, maxExcluded: true }), fc.double());
  const jitters = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(shapes, ms, ms, jitters, attempts, numbers, (shape, base, max, jitter, attempt, random) => {
      const delayMs = shape({ base, max, jitter })(attempt, () => random);
      expect(Number.isFinite(delayMs)).toBe(true);
      expect(delayMs).toBeGreaterThanOrEqual(0);
      expect(delayMs).toBeLessThanOrEqual(max);
    }),
  );
});

test("without jitter a later attempt never waits less", () => {
  fc.assert(
    fc.property(fc.constantFrom(exponential, linear, fixed), fc.integer({ min: 1, max: 2_000 }), (shape, attempt) => {
      const backoff = shape({ base: "1s", max: "1d", jitter: 0 });
      expect(backoff(attempt + 1, noJitter)).toBeGreaterThanOrEqual(backoff(attempt, noJitter));
    }),
  );
});

test("the default policy gives up after a quarter of an hour, not after seconds and not after days", () => {
  const waits = Array.from({ length: defaultRetryPolicy.maxAttempts - 1 }, (_, index) =>
    defaultRetryPolicy.backoff(index + 1, noJitter),
  );
  const totalMs = waits.reduce((sum, wait) => sum + wait, 0);
  expect(totalMs).toBeGreaterThan(15 * 60_000);
  expect(totalMs).toBeLessThan(20 * 60_000);
});

test.each([Number.NaN, Infinity, -1, "soon"])("a backoff of the application that answers %s is replaced", (answer) => {
  const policy = resolveRetryPolicy({ backoff: () => answer as number });
  expect(retryDelayMs(policy, 2, noJitter)).toBe(4_000);
});

test("a backoff of the application that throws is replaced", () => {
  const policy = resolveRetryPolicy({
    backoff: () => {
      throw new Error("no");
    },
  });
  expect(retryDelayMs(policy, 1, noJitter)).toBe(2_000);
});

test.each([0, -1, 1.5, Number.NaN, 1_001, "3"])("a policy of %s attempts is refused", (maxAttempts) => {
  expect(() => resolveRetryPolicy({ maxAttempts: maxAttempts as number })).toThrow(
    expect.objectContaining({ code: "option_invalid" }),
  );
});

test.each([-0.1, 1.1, Number.NaN])("a jitter of %s is refused", (jitter) => {
  expect(() => exponential({ base: 1, jitter })).toThrow(expect.objectContaining({ code: "option_invalid" }));
});
