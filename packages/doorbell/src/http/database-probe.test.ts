import { expect, test } from "vitest";
import { signal } from "../../test/support.ts";
import { databaseProbe } from "./database-probe.ts";

test("however many ask, one query is under way, and a later question is a query of its own", async () => {
  let queries = 0;
  const answer = signal();
  const postgresAnswers = databaseProbe({
    query: async () => {
      queries += 1;
      await answer.promise;
      return [];
    },
  });
  const asked = Array.from({ length: 50 }, () => postgresAnswers());
  answer.resolve();
  expect(new Set(await Promise.all(asked))).toEqual(new Set([true]));
  expect(queries).toBe(1);
  expect(await postgresAnswers()).toBe(true);
  expect(queries).toBe(2);
});

test("an error is a no, and so is silence, which is waited for two seconds", async () => {
  expect(await databaseProbe({ query: () => Promise.reject(new Error("gone")) })()).toBe(false);
  const startedAtMs = performance.now();
  expect(await databaseProbe({ query: () => new Promise(() => {}) })()).toBe(false);
  expect(performance.now() - startedAtMs).toBeLessThan(10_000);
});
