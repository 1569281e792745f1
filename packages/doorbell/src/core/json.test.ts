import { isDeepStrictEqual } from "node:util";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { expect, test } from "vitest";
import { assertStorableText, toStorableJson } from "./json.ts";

const limits = { path: "payload", maxBytes: 65_536 };

function refusal(value: unknown): { code: string; message: string } {
  try {
    toStorableJson(value, limits);
  } catch (error) {
    return error as { code: string; message: string };
  }
  throw new Error("the value was accepted");
}

test("a plain value is written as JSON.stringify would write it, with its length in bytes", () => {
  const value = { name: "Æøå 😀", items: [1, -2.5, 1e21, true, null, { deep: [] }], empty: {} };
  const { text, bytes } = toStorableJson(value, limits);
  expect(text).toBe(JSON.stringify(value));
  expect(bytes).toBe(Buffer.byteLength(text));
});

const circular: Record<string, unknown> = { list: [] };
(circular["list"] as unknown[]).push(circular);

class Money {
  readonly cents = 1;
}

const sparse: unknown[] = [1];
sparse[2] = 3;

test.each<[string, unknown, string]>([
  ["undefined at the top", undefined, "payload is undefined"],
  ["undefined in an object", { a: { b: undefined } }, "payload.a.b is undefined"],
  ["undefined in an array", { a: [1, undefined] }, "payload.a[1] is undefined"],
  ["a hole in an array", sparse, "payload[1] is undefined"],
  ["NaN", { x: Number.NaN }, "payload.x is NaN"],
  ["Infinity", [-Infinity], "payload[0] is -Infinity"],
  ["a bigint", { n: 1n }, "payload.n is a bigint"],
  ["a Date", { items: [0, 1, 2, { when: new Date(0) }] }, "payload.items[3].when is a Date"],
  ["a Map", { m: new Map([[1, 2]]) }, "payload.m is a Map or Set"],
  ["a Set", { s: new Set() }, "payload.s is a Map or Set"],
  ["bytes", { b: Buffer.from("x") }, "payload.b is bytes"],
  ["a class instance", { price: new Money() }, "payload.price is an instance of a class"],
  ["an array of a subclass", new (class extends Array {})(), "payload is an instance of a class"],
  ["a boxed string", { s: new String("x") }, "payload.s is an instance of a class"],
  ["a function", { f: () => 1 }, "payload.f is a function"],
  ["a symbol", { s: Symbol("x") }, "payload.s is a symbol"],
  ["a symbol key", { [Symbol("x")]: 1 }, "payload has a symbol for a key"],
  ["a circle", circular, "payload.list[0] is circular"],
  ["NUL in a string", { a: "x\0" }, "payload.a contains a NUL character"],
  ["NUL in a key", { "a\0": 1 }, "contains a NUL character"],
  ["a lone surrogate", { a: ["\u{dc00}"] }, "payload.a[0] contains a lone surrogate"],
  ["an own __proto__", JSON.parse('{"a":{"__proto__":{"polluted":true}}}'), "payload.a.__proto__ is a key"],
  ["a toJSON of its own", { a: { toJSON: () => 1 } }, "payload.a.toJSON would replace"],
  ["a toJSON of its class", { a: new URL("https://example.com") }, "payload.a is an instance of a class"],
  ["named properties on an array", Object.assign([1], { total: 1 }), "payload is an array with named properties"],
  ["an odd key in the path", { "a b": { "1": undefined } }, 'payload["a b"]["1"] is undefined'],
  ["an object with inherited members", Object.create({ inherited: 1 }), "payload is an instance of a class"],
])("%s is refused with its path", (_, value, message) => {
  expect(refusal(value)).toMatchObject({ code: "value_not_storable", message: expect.stringContaining(message) });
});

test("a getter that throws is refused with its path and keeps the cause", () => {
  const cause = new Error("lazy loading failed");
  const value = {
    get a(): number {
      throw cause;
    },
  };
  expect(refusal(value)).toMatchObject({ message: "payload.a cannot be read", cause });
});

test("a getter is read once, so that what was judged is what is written", () => {
  let reads = 0;
  const value = {
    get a(): unknown {
      reads += 1;
      return reads === 1 ? 1 : new Date();
    },
  };
  expect(toStorableJson(value, limits).text).toBe('{"a":1}');
});

test("64 levels are taken and 65 are refused", () => {
  const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);
  expect(() => toStorableJson(nested(64), limits)).not.toThrow();
  expect(refusal(nested(65)).message).toContain("nested deeper than 64 levels");
});

test("a value is measured in bytes, and its limit is inclusive", () => {
  expect(toStorableJson("é".repeat(4), { path: "result", maxBytes: 10 }).bytes).toBe(10);
  expect(() => toStorableJson("é".repeat(5), { path: "result", maxBytes: 10 })).toThrow(
    expect.objectContaining({ code: "payload_too_large", message: expect.stringContaining("result") }),
  );
});

test("a small value with an enormous text is refused at once", () => {
  let lol: unknown = "lol";
  for (let level = 0; level < 60; level += 1) lol = [lol, lol];
  expect(refusal(lol).code).toBe("payload_too_large");
});

test("a value that occurs twice without a circle is taken", () => {
  const shared = { a: 1 };
  expect(toStorableJson([shared, shared], limits).text).toBe('[{"a":1},{"a":1}]');
});

test("objects without a prototype and of another realm are plain", () => {
  expect(toStorableJson(Object.assign(Object.create(null), { a: 1 }), limits).text).toBe('{"a":1}');
  expect(toStorableJson(runInNewContext('({a: [1, {b: "x"}]})'), limits).text).toBe('{"a":[1,{"b":"x"}]}');
});

test("members called constructor and prototype are plain data", () => {
  const value = JSON.parse('{"constructor":{"prototype":{"polluted":true}}}');
  expect(toStorableJson(value, limits).text).toBe('{"constructor":{"prototype":{"polluted":true}}}');
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

test("whatever is given either comes back equal or is refused with a code and a path", () => {
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withSparseArray: true,
    withTypedArray: true,
    withNullPrototype: true,
    withObjectString: true,
  });
  fc.assert(
    fc.property(fc.oneof(anything, fc.jsonValue()), (value) => {
      let text: string;
      try {
        text = toStorableJson(value, { path: "value", maxBytes: 10_000 }).text;
      } catch (error) {
        expect((error as { code: string }).code).toMatch(/^(value_not_storable|payload_too_large)$/);
        expect((error as Error).message).toMatch(/^value/);
        return;
      }
      expect(isDeepStrictEqual(JSON.parse(text), withoutNegativeZero(value))).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

test("every JSON value that Postgres can hold is accepted", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "grapheme", maxDepth: 8 }), (value) => {
      const text = JSON.stringify(value);
      fc.pre(!text.includes("\\u0000") && !text.includes('"__proto__"'));
      expect(toStorableJson(value, limits).text).toBe(text);
    }),
  );
});

test("text is asserted by type, length in bytes and content, under the code that is asked for", () => {
  expect(() => assertStorableText("é", { name: "key", maxBytes: 2 })).not.toThrow();
  for (const text of [null, 1, "éa", "\0", "\u{d800}"]) {
    expect(() => assertStorableText(text, { name: "idempotency key", maxBytes: 2, code: "key_invalid" })).toThrow(
      expect.objectContaining({ code: "key_invalid", message: expect.stringMatching(/^idempotency key /) }),
    );
  }
});

function withoutNegativeZero(value: unknown): unknown {
  if (value === 0) return 0;
  if (Array.isArray(value)) return value.map(withoutNegativeZero);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withoutNegativeZero(member)]));
}
