import { describe, expect, test } from "vitest";
import { invoiceWith } from "../../test/documents/invoice-with.ts";
import { amountToPay, isToBePaid } from "./payment.ts";

describe("amountToPay", () => {
  test("is what is left where the document says so, else all of it", () => {
    expect(amountToPay(invoiceWith({ total: "120.00", due: "70.00" }))).toBe("70.00");
    expect(amountToPay(invoiceWith({ total: "120.00", due: null }))).toBe("120.00");
  });
});

describe("isToBePaid", () => {
  test("is true of an invoice with something left to pay", () => {
    expect(isToBePaid(invoiceWith({ due: "0.01" }))).toBe(true);
  });

  test("is false of a credit note, and of what has been paid", () => {
    expect(isToBePaid(invoiceWith({ typeCode: "381" }))).toBe(false);
    expect(isToBePaid(invoiceWith({ due: "0.00" }))).toBe(false);
    expect(isToBePaid(invoiceWith({ due: "-5.00" }))).toBe(false);
  });
});
