// docs/running.md explains every code that the doctor may print, and no other; and each of them is planted somewhere.
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const textOf = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");

const codes: readonly (string | undefined)[] = [...textOf("finding.ts").matchAll(/^ {2}\| "(\w+)"/gm)].map(
  ([, code]) => code,
);

test("every code of a finding has its row in docs/running.md", () => {
  const rows = [...textOf("../../../../docs/running.md").matchAll(/^\| \**`([a-z]+_[a-z_]+)`\** \|/gm)];
  const explained = rows.map(([, code]) => code).filter((code) => !code?.startsWith("doorbell_"));
  expect(codes.length).toBeGreaterThan(40);
  expect([...new Set(explained)].sort()).toEqual(codes);
});

test("every code of a finding is expected by a test of this folder", () => {
  const tests = readdirSync(new URL(".", import.meta.url)).filter((name) => name.endsWith(".test.ts"));
  const text = tests.map(textOf).join("\n");
  // What a test expects is a code in quotes, or after the severity as in "refuse database_missing: DATABASE_URL".
  expect(codes.filter((code) => !new RegExp(`["\\s]${code}[":]`).test(text))).toEqual([]);
});
