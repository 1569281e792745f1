import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fieldMaxChars, fieldText, storableJson, storableText } from "./clean-text.ts";

describe("storableText", () => {
  test("removes NUL, control characters, direction marks and lone surrogates", () => {
    expect(storableText("a\u0000b\u0007c\u202ed\ud800e\u200bf")).toBe("abcd\ufffdef");
  });

  test("keeps line ends, umlauts and emoji", () => {
    expect(storableText("Zürich\n\t✉ 🐀")).toBe("Zürich\n\t✉ 🐀");
  });

  test("makes any string well-formed and free of NUL", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const clean = storableText(text);
        expect(clean).not.toContain("\u0000");
        expect(() => encodeURIComponent(clean)).not.toThrow();
      }),
    );
  });
});

describe("storableJson", () => {
  test("mends strings wherever they are, and changes nothing else", () => {
    expect(storableJson({ a: ["x\ud83d", 1, null], b: { c: "d\u0000" } })).toEqual({
      a: ["x\ufffd", 1, null],
      b: { c: "d" },
    });
  });
});

describe("fieldText", () => {
  test("collapses blanks and is null for nothing", () => {
    expect(fieldText("  Acme \n  Ltd ")).toBe("Acme Ltd");
    expect(fieldText(" \u0000\n ")).toBeNull();
  });

  test("cuts at the limit without halving a letter", () => {
    expect(fieldText("🐀".repeat(fieldMaxChars + 5))).toBe("🐀".repeat(fieldMaxChars));
  });
});
