import { describe, expect, test } from "vitest";
import { printedLines } from "../../../test/documents/printed-lines.ts";
import { numberCandidates } from "./number.ts";

const found = (drawing: string) =>
  numberCandidates(printedLines(drawing)).map(({ value, evidence }) => [value, evidence]);

describe("numberCandidates", () => {
  test.each([
    ["Invoice Number: 42183017", "42183017"],
    ["Invoice Number:   42183017", "42183017"],
    ["INVOICE: INV-100", "INV-100"],
    ["Invoice # RE-20201121/508 issued at 2020-11-21", "RE-20201121/508"],
    ["Receipt # No.: 9876", "9876"],
    ["Rechnungs-Nr. 2024/17", "2024/17"],
    ["Handelsrechnung (380) Nr. 471102 vom 05.03.2018", "471102"],
    ["Gutschrift (Selbst ausgestellte Rechnung) (389) Nr. 471102", "471102"],
    ["Factuurnummer: 993548900   IBAN NL50INGB0683251309", "993548900"],
    ["Facture n° F20260023", "F20260023"],
    ["Numéro de facture : FA-12", "FA-12"],
    ["Facture FA-2017-0010", "FA-2017-0010"],
    ["Invoice INV/2023/03/0008", "INV/2023/03/0008"],
    ["Beleg-Nr : R87654321012345", "R87654321012345"],
  ])("reads %s by its label", (line, number) => {
    expect(found(line)).toEqual([[number, "label"]]);
  });

  test("reads the column under a header, and trusts a title less", () => {
    expect(found("Klant   Factuur   Vervaldatum\nSC-1    VF1005    22-9-2022")).toEqual([["VF1005", "label"]]);
    expect(found("INVOICE\n2024-17")).toEqual([["2024-17", "hint"]]);
  });

  test("trusts a bare # least", () => {
    expect(found("# invoice_number_1")).toEqual([["invoice_number_1", "place"]]);
  });

  test.each([
    "Invoice date: 2024-01-31",
    "Invoice total 12.50",
    "Rechnung 2024",
    "Customer number: 42",
    "Order No. 17",
    "VAT number: GB123456789",
    "Invoice summary",
    "Factuuradres 12",
  ])("takes nothing from %s", (line) => {
    expect(found(line)).toEqual([]);
  });
});
