// docs/running.md explains every code that the doctor may print, and no other.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const textOf = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");

test("every code of a finding has its row in docs/running.md", () => {
  const codes = [...textOf("finding.ts").matchAll(/^ {2}\| "(\w+)"/gm)].map(([, code]) => code);
  const rows = [...textOf("../../../../docs/running.md").matchAll(/^\| \**`([a-z]+_[a-z_]+)`\** \|/gm)];
  const explained = rows.map(([, code]) => code).filter((code) => !code?.startsWith("doorbell_"));
  expect(codes.length).toBeGreaterThan(40);
  expect([...new Set(explained)].sort()).toEqual(codes);
});
