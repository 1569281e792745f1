import { expect, test } from "vitest";
import { defineJob } from "../core/definition.ts";
import { handle } from "./handler.ts";
import { resolveTuning, type WorkerTuning } from "./tuning.ts";

const one = handle(defineJob({ kind: "one" }), () => {});
const slow = handle(defineJob({ kind: "two", lane: "slow" }), () => {});

test("by default 20 handlers at once, the lanes of the kinds, a lease of 30 s", () => {
  expect(resolveTuning([one, slow], {})).toEqual({
    concurrency: 20,
    lanes: ["default", "slow"],
    leaseMs: 30_000,
    graceMs: 30_000,
    pollMs: 1_000,
    transactionsMax: 20,
  });
  expect(resolveTuning([one], { concurrency: 4 }).transactionsMax).toBe(4);
});

test.each<[string, WorkerTuning]>([
  ["no slots", { concurrency: 0 }],
  ["half a slot", { concurrency: 1.5 }],
  ["too many slots", { concurrency: 10_001 }],
  ["a lease under a second", { lease: "999ms" }],
])("%s are refused", (_name, tuning) => {
  expect(() => resolveTuning([one], tuning)).toThrow(expect.objectContaining({ code: "option_invalid" }));
});

test("no handler, and two of one kind, are refused", () => {
  for (const handlers of [[], [one, one]]) {
    expect(() => resolveTuning(handlers, {})).toThrow(expect.objectContaining({ code: "option_invalid" }));
  }
});
