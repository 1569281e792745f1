// Asserts what checks found, and tells `npm run test:tenancy` how many they were.
import { appendFileSync } from "node:fs";
import { expect } from "vitest";
import type { Checks } from "./boundary.ts";

export function expectSound(checks: Checks, atLeast: number): void {
  expect(checks.faults).toEqual([]);
  expect(checks.count).toBeGreaterThanOrEqual(atLeast);
  const file = process.env["DOORBELL_TEST_COUNTS"];
  if (file !== undefined) appendFileSync(file, `${checks.count}\n`);
}
