import { describe, expect, test } from "vitest";
import { makeBill } from "../../samples/bill.ts";
import { ciiXml } from "../../samples/cii-xml.ts";
import { emailMessage } from "../../samples/email-message.ts";
import { hybridPdf } from "../../samples/hybrid-pdf.ts";
import { makeSamples, type Sample } from "../../samples/make-samples.ts";
import { drawBill, newPdf, savePdf, textPdf } from "../../samples/text-pdf.ts";
import { ublXml } from "../../samples/ubl-xml.ts";
import { defaultLimits, type Limits, resolveLimits } from "./limits.ts";
import { readDocument } from "./read-document.ts";

const today = "2026-12-01";
const read = (bytes: Uint8Array, limits: Partial<Limits> = {}) => readDocument(bytes, resolveLimits(limits), today);
const codesOf = (extraction: Awaited<ReturnType<typeof read>>) => extraction.reasons.map((reason) => reason.code);

const bill = makeBill("acme", 1);
const otherBill = makeBill("acme", 2);

describe("the samples", async () => {
  const samples = await makeSamples();

  test.each(samples.map((sample): [string, Sample] => [`${sample.account}/${sample.name}`, sample]))(
    "%s ends as it should",
    async (_, { bytes, expected }) => {
      const extraction = await read(bytes);
      expect(extraction.outcome).toBe(expected.outcome);
      if (expected.reason !== null) expect(codesOf(extraction)).toContain(expected.reason);
      if (expected.fields !== null) expect(extraction.invoice).toMatchObject(expected.fields);
    },
  );
});

describe("a hybrid PDF", () => {
  /** A page that shows one bill, with files attached to it. */
  async function pdfWith(attachments: Readonly<Record<string, Uint8Array>>): Promise<Uint8Array> {
    const document = await newPdf();
    await drawBill(document, bill, "beside");
    for (const [name, bytes] of Object.entries(attachments)) await document.attach(bytes, name);
    return savePdf(document);
  }

  test("is reviewed when page and XML differ, with the fields of the XML", async () => {
    const extraction = await read(await pdfWith({ "factur-x.xml": ciiXml(otherBill) }));
    expect(extraction).toMatchObject({
      outcome: "needs_review",
      method: "embedded-xml",
      invoice: { number: otherBill.number },
    });
    expect(codesOf(extraction)).toEqual(["hybrid_mismatch"]);
  });

  test("is read by an invoice under any name, but a standard name comes first", async () => {
    expect(await read(await pdfWith({ "UBL-Invoice-2.1.xml": ublXml(bill) }))).toMatchObject({
      outcome: "accepted",
      invoice: { syntax: "ubl", provenance: { number: { attachment: "UBL-Invoice-2.1.xml" } } },
    });
    expect(
      await read(await pdfWith({ "a.xml": ublXml(otherBill), "ZUGFeRD-invoice.xml": ciiXml(bill) })),
    ).toMatchObject({
      outcome: "accepted",
      invoice: { syntax: "cii", number: bill.number },
    });
  });

  test("is reviewed when it carries two invoices", async () => {
    const extraction = await read(await pdfWith({ "a.xml": ublXml(bill), "b.xml": ciiXml(bill) }));
    expect(codesOf(extraction)).toEqual(["embedded_xml_several"]);
  });

  test("is read by its page, for review, when its XML is broken or unsafe", async () => {
    for (const xml of ["<CrossIndustryInvoice>", "<!DOCTYPE a><CrossIndustryInvoice/>"]) {
      const extraction = await read(await pdfWith({ "factur-x.xml": new TextEncoder().encode(xml) }));
      expect(extraction).toMatchObject({ outcome: "needs_review", method: "text", invoice: { number: bill.number } });
      expect(codesOf(extraction)).toEqual(["embedded_xml_unreadable"]);
    }
  });

  test("is read by its page when what is attached is no invoice", async () => {
    const notes = new TextEncoder().encode("<?xml version='1.0'?><notes/>");
    expect(await read(await pdfWith({ "notes.xml": notes }))).toMatchObject({ outcome: "accepted", method: "text" });
  });
});

describe("a PDF with text", () => {
  test("is never accepted when pages were left unread", async () => {
    const document = await newPdf();
    await drawBill(document, bill, "beside");
    document.addPage();
    const extraction = await read(await savePdf(document), { pagesRead: 1 });
    expect(codesOf(extraction)).toEqual(["pages_unread"]);
  });
});

describe("an e-mail", () => {
  const withXmlToo = (pdf: Uint8Array, xml: Uint8Array) => {
    const message = new TextDecoder().decode(emailMessage(bill, pdf));
    const part = `Content-Type: text/xml\r\nContent-Disposition: attachment; filename="x.xml"\r\n\r\n${new TextDecoder().decode(xml)}`;
    return new TextEncoder().encode(
      message.replace(/--sample-boundary-7f3a--/, `--sample-boundary-7f3a\r\n${part}\r\n$&`),
    );
  };

  test("is read by attached XML before a PDF", async () => {
    const extraction = await read(withXmlToo(await textPdf(otherBill, "beside"), ublXml(bill)));
    expect(extraction).toMatchObject({
      outcome: "accepted",
      kind: "email",
      method: "xml",
      invoice: { number: bill.number },
    });
  });

  test("is reviewed when it carries two invoices of the same kind", async () => {
    const twice = withXmlToo(ublXml(bill), ublXml(otherBill));
    expect(codesOf(await read(twice))).toEqual(["email_several_invoices"]);
  });

  test("is rejected for what its only attachment is rejected for", async () => {
    const extraction = await read(emailMessage(bill, new TextEncoder().encode("%PDF-1.4 nonsense")));
    expect(extraction).toMatchObject({ outcome: "rejected", kind: "email" });
    expect(codesOf(extraction)).toEqual(["pdf_corrupt"]);
  });

  test("is reviewed when nothing in it could be an invoice", async () => {
    const extraction = await read(emailMessage(bill, new TextEncoder().encode("BEGIN:VCARD")));
    expect(codesOf(extraction)).toEqual(["email_no_invoice"]);
  });
});

describe("anything else", () => {
  test("gets a code and a sentence, and is plain JSON", async () => {
    const extraction = await read(new TextEncoder().encode("<html><body>Sign in"));
    expect(extraction).toEqual({
      outcome: "rejected",
      reasons: [
        { code: "unsupported_type", message: "The file is not a kind of document that can hold an invoice. (HTML)" },
      ],
      warnings: [],
      kind: "html",
      method: "none",
      invoice: null,
      extractorVersion: expect.any(String),
    });
    expect(JSON.parse(JSON.stringify(extraction))).toEqual(extraction);
  });

  test("is reviewed as an invoice in a foreign syntax", async () => {
    const xml = new TextEncoder().encode("<p:FatturaElettronica xmlns:p='x'><a/></p:FatturaElettronica>");
    expect(codesOf(await read(xml))).toEqual(["unsupported_syntax"]);
  });

  test("keeps only so many rows, after all have been checked", async () => {
    const line = bill.lines[0];
    if (line === undefined) throw new Error("the bill has no lines");
    const long = { ...bill, lines: Array.from({ length: 300 }, () => ({ ...line, quantity: 1 })) };
    const extraction = await read(ciiXml(long), defaultLimits);
    expect(extraction.outcome).toBe("accepted");
    expect(extraction.invoice?.lines).toHaveLength(200);
  });

  test("can be stored, also where a long value was cut in the middle of a letter", async () => {
    const rats = "🐀".repeat(40);
    const xml = new TextDecoder().decode(ublXml({ ...bill, seller: { ...bill.seller, iban: `DE89x${rats}` } }));
    const { warnings } = await read(new TextEncoder().encode(xml));
    expect(warnings).toMatchObject([{ code: "iban_invalid", message: expect.stringContaining("🐀\ufffd") }]);
  });

  test("keeps only so many reasons, where every row has one", async () => {
    const row = "<cac:TaxSubtotal><cbc:TaxableAmount>100</cbc:TaxableAmount><cbc:TaxAmount>1</cbc:TaxAmount>";
    const wrong = `${row}<cac:TaxCategory><cbc:Percent>20</cbc:Percent></cac:TaxCategory></cac:TaxSubtotal>`;
    const xml = new TextDecoder().decode(ublXml(bill)).replace("</cac:TaxTotal>", `${wrong.repeat(5000)}$&`);
    const { outcome, reasons } = await read(new TextEncoder().encode(xml));
    expect(outcome).toBe("needs_review");
    expect(reasons).toHaveLength(50);
  });

  test("gives the same answer twice", async () => {
    const bytes = await hybridPdf(bill);
    expect(await read(bytes)).toEqual(await read(bytes));
  });
});
