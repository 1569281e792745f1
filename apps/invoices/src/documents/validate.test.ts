import { describe, expect, test } from "vitest";
import { invoiceWith } from "../../test/documents/invoice-with.ts";
import { validateInvoice } from "./validate.ts";

const today = "2026-03-01";
const codes = (changes: Parameters<typeof invoiceWith>[0]) =>
  validateInvoice(invoiceWith(changes), today).map((finding) => finding.code);

describe("validateInvoice", () => {
  test("has nothing to say about a good invoice", () => {
    expect(codes({})).toEqual([]);
  });

  test.each(["number", "date", "currency", "total", "net", "vat"] as const)("misses the %s", (field) => {
    expect(codes({ [field]: null })).toEqual([`missing_${field}`]);
  });

  test("takes days from 2000 until sixty days ahead", () => {
    expect(codes({ date: "2000-01-01" })).toEqual([]);
    expect(codes({ date: "1999-12-31" })).toEqual(["date_implausible"]);
    expect(codes({ date: "2026-04-30", dueDate: null })).toEqual([]);
    expect(codes({ date: "2026-05-01", dueDate: null })).toEqual(["date_implausible"]);
  });

  test("asks about a due date before the invoice date, not about one on the same day", () => {
    expect(codes({ dueDate: "2026-01-14" })).toEqual(["due_before_date"]);
    expect(codes({ dueDate: "2026-01-15" })).toEqual([]);
  });

  test.each(["EURO", "eur", "DEM", "XYZ"])("does not know the currency %s", (currency) => {
    expect(codes({ currency })).toEqual(["currency_unknown"]);
  });

  test("asks about negative totals, on credit notes too", () => {
    const negative = { total: "-120.00", net: "-100.00", vat: "-20.00", due: "-120.00" };
    expect(codes({ ...negative, typeCode: "380" })).toEqual(["sign_unusual"]);
    expect(codes({ ...negative, typeCode: "381" })).toEqual(["sign_unusual"]);
    expect(codes({ typeCode: "381" })).toEqual([]);
  });

  test("does not take a number that fills the whole field", () => {
    expect(codes({ number: "9".repeat(300) })).toEqual(["number_too_long"]);
  });

  test("only warns about account numbers and parties", () => {
    const findings = validateInvoice(invoiceWith({ ibans: ["DK1212341234123412"], buyer: "SELLER Ltd" }), today);
    expect(findings.map(({ severity, code }) => [severity, code])).toEqual([
      ["warning", "seller_is_buyer"],
      ["warning", "iban_invalid"],
    ]);
    expect(codes({ ibans: ["DE89 3704 0044 0532 0130 00"] })).toEqual([]);
  });
});
