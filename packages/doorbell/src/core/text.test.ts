import fc from "fast-check";
import { expect, test } from "vitest";
import { cutToBytes, oneLine, replaceUnstorable, unstorablePart, utf8Bytes } from "./text.ts";

test("what Postgres cannot hold is named", () => {
  expect(unstorablePart("a\0b")).toBe("a NUL character");
  expect(unstorablePart("a\u{d800}b")).toBe("a lone surrogate");
  expect(unstorablePart("a😀\u{ffff}\n\u{1}b")).toBeNull();
});

test("a repaired text is storable and of the same length", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)) }), (text) => {
      const repaired = replaceUnstorable(text);
      expect(unstorablePart(repaired)).toBeNull();
      expect(repaired.length).toBe(text.length);
    }),
  );
});

test("a cut text fits, is well formed, and begins as the original did", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 80 }), fc.integer({ min: 12, max: 120 }), (text, maxBytes) => {
      const cut = cutToBytes(text, maxBytes);
      expect(utf8Bytes(cut)).toBeLessThanOrEqual(maxBytes);
      expect(unstorablePart(cut)).toBeNull();
      if (utf8Bytes(text) <= maxBytes) expect(cut).toBe(text);
      else expect(text.startsWith(cut.replace(/ …\[cut\]$/u, ""))).toBe(true);
    }),
  );
});

test("a character of four bytes is never cut in half", () => {
  expect(cutToBytes("😀😀😀😀", 15, "…")).toBe("😀😀😀…");
  expect(cutToBytes("😀😀😀😀", 14, "…")).toBe("😀😀…");
});

test("a text on one line has no line feed, and nothing that a terminal obeys", () => {
  expect(oneLine(" first\r\n\tsecond\u{1b}[2J\0third ")).toBe("first second [2J third");
});
