import { describe, expect, test } from "vitest";
import { printedLines } from "../../../test/documents/printed-lines.ts";
import { findAmounts } from "./amounts.ts";
import { findDays } from "./dates.ts";
import { hasWords, labelValues } from "./labelled.ts";

describe("labelValues", () => {
  test("takes the words before a value, in its cell or in one before", () => {
    const labelled = labelValues(printedLines("Exclusief BTW € 593,36   Subtotaal   € 717,97"), findAmounts);
    expect(labelled.map(({ value, before }) => [value, before?.trim()])).toEqual([
      ["593.36", "Exclusief BTW"],
      ["717.97", "Subtotaal"],
    ]);
  });

  test("knows first and last of the values that share a label", () => {
    const labelled = labelValues(printedLines("VAT 20 on 81.90 16.38   Total 98.28"), findAmounts);
    expect(labelled.map(({ value, isFirst, isLast }) => [value, isFirst, isLast])).toEqual([
      ["81.90", true, false],
      ["16.38", false, true],
      ["98.28", true, true],
    ]);
  });

  test("finds the header of a column, past other values of the column", () => {
    const labelled = labelValues(
      printedLines(`
        Rate    Base     VAT amount   Total
        21 %    41,31          8,68   49,99
                41,31          8,68   49,99`),
      findAmounts,
    );
    expect(labelled.map(({ value, before, above }) => [value, before, above])).toEqual([
      ["41.31", null, "Base"],
      ["8.68", null, "VAT amount"],
      ["49.99", null, "Total"],
      ["41.31", null, "Base"],
      ["8.68", null, "VAT amount"],
      ["49.99", null, "Total"],
    ]);
  });

  test("does not take an identifier on the same row for a label", () => {
    const [first] = labelValues(
      printedLines(`
        Customer       Invoice date   Invoice
        SCONL-030300   8-9-2022       VF1005`),
      findDays,
    );
    expect(first).toMatchObject({ before: null, above: "Invoice date" });
  });

  test("looks for no header on the page before", () => {
    const lines = [...printedLines("Total", 1), ...printedLines("49,99", 2)];
    expect(labelValues(lines, findAmounts)).toMatchObject([{ before: null, above: null }]);
  });
});

describe("hasWords", () => {
  test.each(["Total", "VAT", "à payer", "TVA 20"])("%s labels", (text) => {
    expect(hasWords(text)).toBe(true);
  });

  test.each(["", "€", "EUR", "RE-2026", "42", "# :", "SCONL0303"])("%j does not", (text) => {
    expect(hasWords(text)).toBe(false);
  });
});
