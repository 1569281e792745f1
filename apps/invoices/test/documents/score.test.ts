import { describe, expect, test } from "vitest";
import { type DocumentResult, type ManifestEntry, scoreDocuments } from "./score.ts";

const rightAnswers = { number: "F-1", date: "2026-01-15", currency: "EUR", total: 529.87, net: 473, vat: 56.87 };
const rightInvoice = {
  number: "F-1",
  date: "2026-01-15",
  currency: "EUR",
  total: "529.87",
  net: "473.00",
  vat: "56.87",
  due: null,
};

const entry = (kind: string, expected: ManifestEntry["expected"] = rightAnswers): ManifestEntry => ({
  file: `${kind}/a`,
  kind,
  expected,
});

function result(of: ManifestEntry, changes: Partial<DocumentResult> = {}): DocumentResult {
  return {
    file: of.file,
    outcome: "accepted",
    reasons: [],
    kind: "pdf",
    method: "text",
    invoice: rightInvoice,
    ...changes,
  };
}

describe("scoreDocuments", () => {
  test("counts each kind for itself, and a missing result as wrong", () => {
    const kinds = ["facturx-pdf", "xml-cii", "xml-ubl", "pdf-text", "pdf-scan", "image-receipt", "eml", "hostile"];
    const entries = kinds.map((kind) => entry(kind));
    const score = scoreDocuments(
      entries,
      entries.filter(({ kind }) => kind !== "xml-ubl" && kind !== "hostile").map((one) => result(one)),
    );
    expect(score).toMatchObject({
      xmlRight: 2,
      xmlTotal: 3,
      textRight: 1,
      textTotal: 1,
      scanRight: 2,
      scanTotal: 2,
      wronglyAccepted: 0,
      hostileHeld: 0,
      hostileTotal: 1,
    });
  });

  test("asks XML for net and VAT too, text for the four core fields", () => {
    const invoice = { ...rightInvoice, vat: "56.88" };
    const xml = entry("xml-cii");
    const text = entry("pdf-text");
    const score = scoreDocuments([xml, text], [result(xml, { invoice }), result(text, { invoice })]);
    expect(score).toMatchObject({ xmlRight: 0, textRight: 1 });
    expect(score.details[0]?.problems).toEqual(["vat should be 56.87, is 56.88"]);
  });

  test("counts a wrong field as wrongly accepted, in whatever kind, unless it is under review", () => {
    const text = entry("pdf-text");
    const invoice = { ...rightInvoice, total: "529.78" };
    expect(scoreDocuments([text], [result(text, { invoice })]).wronglyAccepted).toBe(1);
    expect(scoreDocuments([text], [result(text, { invoice, outcome: "needs_review" })]).wronglyAccepted).toBe(0);
    expect(scoreDocuments([text], [result(text, { invoice: null })]).wronglyAccepted).toBe(1);
  });

  test("counts a hybrid whose page differs as wrongly accepted, however right its XML", () => {
    const hybrid = { ...entry("facturx-pdf"), pageShows: { total: 1 } };
    expect(scoreDocuments([hybrid], [result(hybrid)])).toMatchObject({ xmlRight: 1, wronglyAccepted: 1 });
  });

  test("takes null for truly absent, and an absent key for unknown", () => {
    const zugferd = entry("facturx-pdf", { number: "F-1", net: null, due: null });
    const invoice = { ...rightInvoice, net: null };
    expect(scoreDocuments([zugferd], [result(zugferd, { invoice })]).xmlRight).toBe(1);
    expect(scoreDocuments([zugferd], [result(zugferd)]).xmlRight).toBe(0);
  });
});

describe("the outcome of a hostile file", () => {
  const held = (prose: string, changes: Partial<DocumentResult>) => {
    const hostile = entry("hostile", { outcome: prose });
    const ended: DocumentResult = result(hostile, { invoice: null, method: "none", ...changes });
    return scoreDocuments([hostile], [ended]).hostileHeld === 1;
  };
  const rejected = (code: string) => ({ outcome: "rejected" as const, reasons: [{ code, message: "" }] });
  const review = (code: string) => ({ outcome: "needs_review" as const, reasons: [{ code, message: "" }] });

  test.each([
    ["permanent: pdf_encrypted", rejected("pdf_encrypted")],
    ["pdf_corrupt, or needs_review:no_text (one page); never loop", rejected("pdf_corrupt")],
    ["pdf_corrupt, or needs_review:no_text (one page); never loop", review("no_text_layer")],
    ["permanent or timeout: resource_limit within the stage budget", rejected("image_too_large")],
    ["timeout/resource_limit within the stage budget", rejected("limit_memory")],
    ["permanent: pdf_corrupt, or needs_review", review("missing_total")],
    ["sniff bytes: treat as image", { ...review("no_text_layer"), kind: "image" }],
    ["permanent: xml_not_wellformed, or NUL removed", review("missing_total")],
    ["needs_review: BR-CO-15 (1 + 1 != 3)", review("BR-CO-15")],
    ["either XML fields (F-1, 529.87) by a lenient parser, or fall back to the text layer", { invoice: rightInvoice }],
  ])("%s allows %o", (prose, end) => {
    expect(held(prose, end)).toBe(true);
  });

  test.each([
    ["permanent: pdf_encrypted", rejected("pdf_corrupt")],
    ["permanent: pdf_encrypted", review("pdf_encrypted")],
    ["needs_review: BR-CO-15 (1 + 1 != 3)", review("missing_total")],
    ["timeout/resource_limit within the stage budget", rejected("pdf_corrupt")],
    ["sniff bytes: treat as image", { ...rejected("pdf_corrupt"), kind: "image" }],
    ["permanent: empty_file", { outcome: "accepted" as const }],
    ["something that nobody has thought of", rejected("pdf_corrupt")],
    ["permanent: pdf_corrupt, or needs_review", { outcome: "needs_review" as const, reasons: [] }],
    ["permanent: pdf_corrupt", { ...rejected("pdf_corrupt"), elapsedMs: 60_001 }],
    [
      "needs_review; text stored with NUL removed",
      { ...review("x"), invoice: { ...rightInvoice, number: "a\u0000b" } },
    ],
  ])("%s does not allow %o", (prose, end) => {
    expect(held(prose, end)).toBe(false);
  });
});
