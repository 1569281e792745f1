import fc from "fast-check";
import { expect, test } from "vitest";
import { unstorablePart } from "../core/text.ts";
import { toLogFields } from "./fields.ts";

const limits = { maxBytes: 4_096, reserved: new Set<string>() };

test("plain values are kept, odd ones become readable", () => {
  const fields = {
    text: "x",
    number: 1.5,
    flag: true,
    nothing: null,
    missing: undefined,
    infinite: Infinity,
    big: 12n,
    when: new Date(0),
    never: new Date(Number.NaN),
    bytes: Buffer.from("xyz"),
    map: new Map([[1, 2]]),
    set: new Set([1]),
    fn: () => 1,
    symbol: Symbol("x"),
    nested: { list: [1, { deep: { deeper: { deepest: 1 } } }] },
  };
  expect(toLogFields(fields, limits)).toEqual({
    text: "x",
    number: 1.5,
    flag: true,
    nothing: null,
    infinite: "Infinity",
    big: "12",
    when: "1970-01-01T00:00:00.000Z",
    never: "[invalid date]",
    bytes: "[3 bytes]",
    map: "[map of 1]",
    set: "[set of 1]",
    fn: "[function]",
    symbol: "[symbol]",
    nested: { list: [1, { deep: "[object]" }] },
  });
});

test("what cannot be read becomes a marker in its place", () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const fields = {
    fine: 1,
    revoked: proxy,
    get broken(): number {
      throw new Error("no");
    },
  };
  expect(toLogFields(fields, limits)).toEqual({ fine: 1, revoked: "[unreadable]", broken: "[unreadable]" });
  expect(toLogFields(proxy, limits)).toEqual({ value: "[unreadable]" });
});

test("a field that does not fit becomes a marker, and those behind it are still there", () => {
  const fields = toLogFields({ large: Array(49).fill("x".repeat(100)), small: 1 }, limits);
  expect(fields).toEqual({ large: expect.stringMatching(/^\[left out: \d+ bytes\]$/), small: 1 });
});

test("a member called __proto__ is a member", () => {
  const fields = toLogFields(JSON.parse('{"__proto__":{"polluted":true},"a":{"__proto__":1}}'), limits);
  expect(Object.hasOwn(fields, "__proto__")).toBe(true);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

test("a value that mentions itself many times over is copied in no time", () => {
  let value: unknown[] = [];
  for (let level = 0; level < 5; level += 1) value = Array(50).fill(value);
  const startedAt = performance.now();
  toLogFields({ value }, limits);
  expect(performance.now() - startedAt).toBeLessThan(200);
});

test("whatever is given, the fields are storable JSON within the limit", () => {
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withTypedArray: true,
  });
  fc.assert(
    fc.property(anything, fc.string(), fc.integer({ min: 10, max: 300 }), (value, name, maxBytes) => {
      const fields = toLogFields({ [name]: value, value }, { maxBytes, reserved: new Set(["value"]) });
      const text = JSON.stringify(fields);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxBytes + 2);
      expect(unstorablePart(text)).toBeNull();
      expect(Object.hasOwn(fields, "value")).toBe(false);
    }),
    { numRuns: 1_000 },
  );
});
