import { InvalidArgumentError } from "commander";
import { expect, test } from "vitest";
import { jobId, jsonValue, runAfter, since, wholeNumber } from "./arguments.ts";

test("since is an instant, or a time ago", () => {
  expect(since("2026-01-31T12:00:00Z").toISOString()).toBe("2026-01-31T12:00:00.000Z");
  const beforeMs = Date.now();
  const twoHoursAgoMs = since("2h").getTime();
  expect(twoHoursAgoMs).toBeGreaterThanOrEqual(beforeMs - 7_200_000);
  expect(twoHoursAgoMs).toBeLessThanOrEqual(Date.now() - 7_200_000);
});

test("run-after is an instant, or a delay that is left to the database's clock", () => {
  expect(runAfter("2026-01-31")).toEqual(new Date("2026-01-31T00:00:00Z"));
  expect(runAfter("10m")).toBe("10m");
});

test.each([
  [since, "yesterday"],
  [since, "3 weeks"],
  [since, "2026-01-31T12:00:00"],
  [since, "2026-13-31"],
  [runAfter, "10"],
  [runAfter, "10 parsecs"],
  [runAfter, "99999d"],
  [jobId, "1"],
  [jsonValue, "{a:1}"],
  [wholeNumber(-8, 8), "9"],
  [wholeNumber(-8, 8), "1.5"],
  [wholeNumber(-8, 8), ""],
])("what is not understood is a usage error", (parse, text) => {
  expect(() => parse(text)).toThrow(InvalidArgumentError);
});

test("an id is written in one way", () => {
  expect(jobId("01A22FFE-559A-7368-A7F2-D80E2DA27449")).toBe("01a22ffe-559a-7368-a7f2-d80e2da27449");
});
