import { describe, expect, test } from "vitest";
import { printedLines } from "../../../test/documents/printed-lines.ts";
import { readTextFields } from "./fields.ts";

const goodPage = `
Brightwater Tools Ltd                 INVOICE
Bill to: Acme Trading Ltd
Invoice number: BW-17
Invoice date: 21 November 2025
Due date: 21 December 2025
Torque wrench   2   £50.00   £100.00
Subtotal   £100.00
VAT 20%   £20.00
Total   £120.00`;

const read = (drawing: string) => readTextFields(printedLines(drawing));
const codes = (drawing: string) => read(drawing).findings.map((finding) => finding.code);

describe("readTextFields", () => {
  test("reads a clear invoice without a doubt, and says where each field stands", () => {
    const { invoice, findings } = read(goodPage);
    expect(findings).toEqual([]);
    expect(invoice).toMatchObject({
      source: "text",
      number: "BW-17",
      date: "2025-11-21",
      dueDate: "2025-12-21",
      currency: "GBP",
      total: "120.00",
      net: "100.00",
      vat: "20.00",
      seller: "Brightwater Tools Ltd",
      buyer: "Acme Trading Ltd",
    });
    expect(invoice.provenance.total).toEqual({
      from: "text",
      page: 1,
      line: 9,
      quote: "Total   £120.00",
      confidence: "high",
    });
    expect(invoice.provenance.seller).toMatchObject({ confidence: "low" });
  });

  test("doubts a date that can be read in two ways, unless another date settles it", () => {
    const withDates = (date: string, due: string) =>
      goodPage.replace("21 November 2025", date).replace("21 December 2025", due);
    expect(codes(withDates("03/04/2025", "05/05/2025"))).toEqual(["date_order_ambiguous"]);
    expect(codes(withDates("03/04/2025", "30/04/2025"))).toEqual([]);
    expect(read(withDates("03/04/2025", "30/04/2025")).invoice.date).toBe("2025-04-03");
    expect(read(withDates("03/04/2025", "04/30/2025")).invoice.date).toBe("2025-03-04");
  });

  test("doubts two currencies, two numbers and two dates", () => {
    expect(codes(`${goodPage}\nabout 137,00 €`)).toEqual(["currency_ambiguous"]);
    expect(codes(`${goodPage}\nInvoice number: BW-18`)).toEqual(["number_ambiguous"]);
    expect(codes(`${goodPage}\nInvoice date: 22 November 2025`)).toEqual(["date_ambiguous"]);
  });

  test("doubts a date without a label", () => {
    expect(codes(goodPage.replace("Invoice date: ", "Bristol, "))).toEqual(["date_unlabelled"]);
  });

  test("takes a bare Date for the invoice's own, but not beside a labelled one", () => {
    expect(codes(goodPage.replace("Invoice date", "Date"))).toEqual([]);
    expect(read(`Date: 1 December 2025\n${goodPage}`).invoice.date).toBe("2025-11-21");
  });

  test("answers for a page of nothing in particular", () => {
    const { invoice, findings } = read("Lorem ipsum dolor\nsit amet");
    expect(findings).toEqual([]);
    expect(invoice).toMatchObject({ number: null, date: null, currency: null, total: null, provenance: {} });
  });
});
