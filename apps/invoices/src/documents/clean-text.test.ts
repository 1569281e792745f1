import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FIELD_CHARS_MAX, fieldText, storableText } from "./clean-text.ts";

describe("storableText", () => {
  it("removes NUL, control characters, direction marks and lone surrogates", () => {
    expect(storableText("a\u0000b\u0007c\u202ed\ud800e\u200bf")).toBe("abcd\ufffdef");
  });

  it("keeps line ends, umlauts and emoji", () => {
    expect(storableText("Zürich\n\t✉ 🐀")).toBe("Zürich\n\t✉ 🐀");
  });

  it("makes any string well-formed and free of NUL", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const clean = storableText(text);
        expect(clean).not.toContain("\u0000");
        expect(() => encodeURIComponent(clean)).not.toThrow();
      }),
    );
  });
});

describe("fieldText", () => {
  it("collapses blanks and is null for nothing", () => {
    expect(fieldText("  Acme \n  Ltd ")).toBe("Acme Ltd");
    expect(fieldText(" \u0000\n ")).toBeNull();
  });

  it("cuts at the limit without halving a letter", () => {
    expect(fieldText("🐀".repeat(FIELD_CHARS_MAX + 5))).toBe("🐀".repeat(FIELD_CHARS_MAX));
  });
});
