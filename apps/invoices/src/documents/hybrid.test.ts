import { describe, expect, test } from "vitest";
import { invoiceWith } from "../../test/documents/invoice-with.ts";
import { printedLines } from "../../test/documents/printed-lines.ts";
import { checkHybrid } from "./hybrid.ts";

const check = (changes: Parameters<typeof invoiceWith>[0], page: string) =>
  checkHybrid(invoiceWith(changes), printedLines(page)).map((finding) => finding.code);

describe("checkHybrid", () => {
  test("is content when the page shows number and total", () => {
    expect(check({}, "Rechnung Nr. RE-42 vom 15.01.2026\nRechnungsbetrag 120,00 EUR")).toEqual([]);
  });

  test("takes the minus on a printed credit note", () => {
    expect(check({ typeCode: "381" }, "Avoir RE-42\nTotal TTC -120,00 €")).toEqual([]);
  });

  test("sees another total, and another number that contains this one", () => {
    expect(check({}, "RE-42\n130,00")).toEqual(["hybrid_mismatch"]);
    expect(check({ number: "42" }, "Rechnung 20131122-42\n120,00")).toEqual(["hybrid_mismatch"]);
    expect(check({ number: "42" }, "Rechnung 4200\n120,00")).toEqual(["hybrid_mismatch"]);
    expect(check({ number: "20131122-42" }, "Rechnung Nr. 42\n120,00")).toEqual(["hybrid_mismatch"]);
  });

  test("cannot compare with a page that has no text", () => {
    expect(check({}, "")).toEqual(["hybrid_page_unreadable"]);
  });
});
