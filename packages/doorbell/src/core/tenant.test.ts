import { expect, test } from "vitest";
import { requireTenant } from "./tenant.ts";

test.each(["acme", "a", "Ünïcode 日本", "x".repeat(200), "😀".repeat(50), "%", "'; drop table jobs; --", "**", " "])(
  "%j is a tenant id, unchanged",
  (tenant) => {
    expect(requireTenant(tenant)).toBe(tenant);
  },
);

test.each([
  "",
  "*",
  "x".repeat(201),
  "é".repeat(101),
  "x".repeat(10_000),
  "a\0",
  "a\nb",
  "a\u{7f}",
  "a\u{85}b",
  "\u{d83d}",
  undefined,
  null,
  7,
  {},
  ["acme"],
])("%j is refused", (tenant) => {
  expect(() => requireTenant(tenant)).toThrow(expect.objectContaining({ code: "tenant_invalid" }));
});

test("the message never repeats an id of 10,000 characters", () => {
  expect(() => requireTenant("x".repeat(10_000))).toThrow(/^tenant id is longer than 200 bytes$/);
});
