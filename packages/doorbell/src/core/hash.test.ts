import fc from "fast-check";
import { expect, test } from "vitest";
import { requestHash, sha256Hex } from "./hash.ts";

test("sha256Hex agrees with the published vectors", () => {
  expect(sha256Hex("")).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  expect(sha256Hex(new TextEncoder().encode("abc"))).toBe(
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  );
});

test("the hash of a request is pinned: stored hashes outlive a release", () => {
  expect(requestHash({ b: [1, "x", null], a: { d: true, c: 0.5 } })).toBe(
    sha256Hex('{"a":{"c":0.5,"d":true},"b":[1,"x",null]}'),
  );
});

test("the order of members does not matter, the order of items does", () => {
  expect(requestHash({ a: 1, b: { c: 2, d: 3 } })).toBe(requestHash({ b: { d: 3, c: 2 }, a: 1 }));
  expect(requestHash([1, 2])).not.toBe(requestHash([2, 1]));
});

test("no request, null and an empty object are three things", () => {
  expect(new Set([requestHash(undefined), requestHash(null), requestHash({})]).size).toBe(3);
});

test("a value and its stored form have the same hash", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(requestHash(JSON.parse(JSON.stringify(value)))).toBe(requestHash(value));
    }),
  );
});

test.each([[1n], [Number.NaN], [{ f: () => 1 }]])("%s has no hash", (value) => {
  expect(() => requestHash(value)).toThrow(expect.objectContaining({ code: "value_not_storable" }));
});
