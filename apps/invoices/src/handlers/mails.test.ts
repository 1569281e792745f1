import { describe, expect, test } from "vitest";
import { invoiceWith } from "../../test/documents/invoice-with.ts";
import { receivedMail, reminderMail } from "./mails.ts";

describe("receivedMail", () => {
  test("says what is to be paid to whom, and until when", () => {
    const { subject, text } = receivedMail(invoiceWith({ due: "70.00" }));
    expect(subject).toBe("Invoice RE-42 from Seller Ltd: 120.00 EUR");
    expect(text.split("\n").slice(2)).toEqual([
      "Seller:  Seller Ltd",
      "Total:   120.00 EUR",
      "To pay:  70.00 EUR",
      "Due on:  2026-02-14",
    ]);
  });

  test("asks nobody to pay a credit note", () => {
    const { subject, text } = receivedMail(invoiceWith({ typeCode: "381" }));
    expect(subject).toBe("Credit note RE-42 from Seller Ltd: 120.00 EUR");
    expect(text).toContain("Nothing is left to pay.");
    expect(text).not.toContain("To pay");
  });

  test("has a subject of bounded length, whatever the document calls itself", () => {
    const { subject } = receivedMail(invoiceWith({ number: "🐀".repeat(290), seller: "🐀".repeat(300) }));
    expect(Buffer.byteLength(subject)).toBeLessThan(1_000);
  });
});

describe("reminderMail", () => {
  test("says when it is due, and that the seller is unnamed where none could be read", () => {
    const { subject, text } = reminderMail(invoiceWith({ seller: null }));
    expect(subject).toBe("Invoice RE-42 is due on 2026-02-14");
    expect(text).toContain("an unnamed seller");
  });
});
