import { describe, expect, test } from "vitest";
import { printedLines } from "../../../test/documents/printed-lines.ts";
import { readTotals } from "./totals.ts";

function totals(drawing: string) {
  const { total, net, vat, due } = readTotals(printedLines(drawing));
  return { total: total?.value ?? null, net: net?.value ?? null, vat: vat?.value ?? null, due: due?.value ?? null };
}

describe("readTotals", () => {
  test("reads the three by their labels", () => {
    expect(totals("Subtotal   100.00\nVAT 20%   20.00\nTotal   120.00")).toMatchObject({
      total: "120.00",
      net: "100.00",
      vat: "20.00",
    });
  });

  test("picks the subtotal that adds up among several", () => {
    expect(
      totals("Subtotal 112.00\nSubtotal 150.90\nSubtotal 262.90\nTax 15% on 112.90 16.94\nTotal 279.84"),
    ).toMatchObject({
      net: "262.90",
      vat: "16.94",
    });
  });

  test("adds up VAT that is stated per rate", () => {
    expect(totals("Netto 473,00\nMwSt. 7%  19,25\nMwSt. 19%  37,62\nRechnungsbetrag 529,87")).toMatchObject({
      vat: "56.87",
    });
  });

  test("keeps an old balance out of the total", () => {
    expect(totals("Subtotal 100.00\nSales tax 10.00\nTotal 110.00\nPrevious balance 500.00\nTotal due 610.00")).toEqual(
      {
        total: "110.00",
        net: "100.00",
        vat: "10.00",
        due: "610.00",
      },
    );
  });

  test("takes what is due for the total where no total is printed", () => {
    expect(totals("Net total: 496.00\nVAT total: 75.04\nDue payable: 571.04").total).toBe("571.04");
    expect(totals("Net total: 496.00\nVAT: 75.04\nPaid: 100.00\nBalance due: 471.04").total).toBeNull();
  });

  test("reads a table of totals by its headers", () => {
    expect(totals("Base     VAT      Total\n100,00   20,00    120,00")).toMatchObject({
      total: "120.00",
      net: "100.00",
      vat: "20.00",
    });
  });

  test("never makes the largest number the total", () => {
    expect(totals("Table, oak   950.00\nChair   120.00").total).toBeNull();
  });

  test("shows sums that do not add up as they are printed", () => {
    expect(totals("Summe netto 1.420,00\nUmsatzsteuer 19% 269,80\nRechnungsbetrag 1.589,80")).toMatchObject({
      total: "1589.80",
      net: "1420.00",
      vat: "269.80",
    });
  });

  test("says so when two different totals have as good a label", () => {
    const { total } = readTotals(printedLines("Net 100.00\nVAT 20.00\nTotal 120.00\nTotal 130.00"));
    expect(total).toMatchObject({ value: "120.00", rivals: ["130.00"] });
  });

  test("is quick about a page of ten thousand amounts", () => {
    const drawing = Array.from({ length: 10_000 }, (_, row) => `Total ${row}.10  VAT ${row}.20  Net ${row}.30`).join(
      "\n",
    );
    const startedAt = performance.now();
    readTotals(printedLines(drawing));
    expect(performance.now() - startedAt).toBeLessThan(5000);
  });
});
