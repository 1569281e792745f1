import { describe, expect, test } from "vitest";
import { makeBill } from "../../../samples/bill.ts";
import { ciiXml } from "../../../samples/cii-xml.ts";
import { ublXml } from "../../../samples/ubl-xml.ts";
import type { Invoice } from "../invoice.ts";
import { defaultLimits } from "../limits.ts";
import { readXml } from "./read.ts";

function invoiceOf(xml: Uint8Array | string, attachment: string | null = null): Invoice {
  const reading = readXml(typeof xml === "string" ? new TextEncoder().encode(xml) : xml, defaultLimits, attachment);
  if (reading.type !== "invoice") throw new Error(`read as ${reading.type}`);
  return reading.invoice;
}

const bill = makeBill("acme", 1);

describe("Cross Industry Invoice", () => {
  test("is read with every field and the path of each", () => {
    const invoice = invoiceOf(ciiXml(bill), "factur-x.xml");
    expect(invoice).toMatchObject({
      source: "xml",
      syntax: "cii",
      profile: "urn:cen.eu:en16931:2017",
      number: bill.number,
      date: bill.date,
      dueDate: bill.dueDate,
      currency: "EUR",
      typeCode: "380",
      seller: bill.seller.name,
      buyer: bill.buyer.name,
      ibans: [bill.seller.iban],
    });
    expect(invoice.lines).toHaveLength(bill.lines.length);
    expect(invoice.vatRows).toHaveLength(2);
    expect(invoice.provenance.number).toEqual({
      from: "xml",
      path: "/CrossIndustryInvoice/ExchangedDocument/ID",
      attachment: "factur-x.xml",
    });
  });

  test("takes the VAT in the invoice's own currency where it is stated in two", () => {
    const xml = `<CrossIndustryInvoice><SupplyChainTradeTransaction><ApplicableHeaderTradeSettlement>
      <InvoiceCurrencyCode>GBP</InvoiceCurrencyCode><SpecifiedTradeSettlementHeaderMonetarySummation>
      <TaxTotalAmount currencyID="EUR">183.14</TaxTotalAmount><TaxTotalAmount currencyID="GBP">163.16</TaxTotalAmount>
      </SpecifiedTradeSettlementHeaderMonetarySummation></ApplicableHeaderTradeSettlement>
      </SupplyChainTradeTransaction></CrossIndustryInvoice>`;
    expect(invoiceOf(xml).vat).toBe("163.16");
  });

  test("is read in the names of ZUGFeRD 1.0 too", () => {
    const xml = `<x:CrossIndustryDocument xmlns:x="a" xmlns:y="b"><x:HeaderExchangedDocument><y:ID>42</y:ID>
      <y:IssueDateTime><z:DateTimeString xmlns:z="c" format="102">20141108</z:DateTimeString></y:IssueDateTime>
      </x:HeaderExchangedDocument><x:SpecifiedSupplyChainTradeTransaction>
      <y:ApplicableSupplyChainTradeSettlement><y:InvoiceCurrencyCode>EUR</y:InvoiceCurrencyCode>
      <y:SpecifiedTradeSettlementMonetarySummation><y:GrandTotalAmount currencyID="EUR">119</y:GrandTotalAmount>
      </y:SpecifiedTradeSettlementMonetarySummation></y:ApplicableSupplyChainTradeSettlement>
      </x:SpecifiedSupplyChainTradeTransaction></x:CrossIndustryDocument>`;
    expect(invoiceOf(xml)).toMatchObject({
      syntax: "zugferd1",
      number: "42",
      date: "2014-11-08",
      currency: "EUR",
      total: "119.00",
      net: null,
      due: null,
    });
  });

  test("reads no day from a format that names none", () => {
    const xml = `<CrossIndustryInvoice><ExchangedDocument><IssueDateTime><DateTimeString format="610">201803</DateTimeString>
      </IssueDateTime></ExchangedDocument></CrossIndustryInvoice>`;
    expect(invoiceOf(xml).date).toBeNull();
  });
});

describe("UBL", () => {
  test("is read as an invoice and as a credit note", () => {
    expect(invoiceOf(ublXml(bill))).toMatchObject({
      syntax: "ubl",
      number: bill.number,
      dueDate: bill.dueDate,
      typeCode: "380",
      seller: bill.seller.name,
      ibans: [bill.seller.iban],
    });
    const creditNote = invoiceOf(ublXml(bill, { type: "CreditNote" }));
    expect(creditNote).toMatchObject({ number: bill.number, typeCode: "381" });
    expect(creditNote.lines).toHaveLength(bill.lines.length);
  });

  test("falls back to the trading name, and takes a date with a time zone", () => {
    const invoice =
      invoiceOf(`<Invoice><IssueDate>2019-09-23+02:00</IssueDate><AccountingSupplierParty><Party><PartyName>
      <Name>Shop</Name></PartyName></Party></AccountingSupplierParty></Invoice>`);
    expect(invoice).toMatchObject({ seller: "Shop", date: "2019-09-23" });
    expect(invoice.provenance.seller).toMatchObject({ path: "/Invoice/AccountingSupplierParty/Party/PartyName/Name" });
  });

  test("keeps amounts it cannot read as missing", () => {
    const xml = "<Invoice><LegalMonetaryTotal><PayableAmount>12,50</PayableAmount></LegalMonetaryTotal></Invoice>";
    expect(invoiceOf(xml).due).toBeNull();
  });

  test("strips a NUL that comes as a character reference", () => {
    expect(invoiceOf("<Invoice><ID>A&#0;1</ID></Invoice>").number).not.toContain("\0");
  });
});

describe("other XML", () => {
  test("is a foreign invoice if its name says so, and else is none", () => {
    const read = (xml: string) => readXml(new TextEncoder().encode(xml), defaultLimits).type;
    expect(read("<p:FatturaElettronica xmlns:p='x'/>")).toBe("foreign-invoice");
    expect(read("<fe:Facturae xmlns:fe='x'/>")).toBe("foreign-invoice");
    expect(read("<rss version='2.0'/>")).toBe("other");
  });

  test.each(["<a><b></a>", "<a", "no element", "<a/><b/>"])("is refused when it is not well-formed: %s", (xml) => {
    expect(() => readXml(new TextEncoder().encode(xml), defaultLimits)).toThrow(
      expect.objectContaining({ code: "xml_not_wellformed" }),
    );
  });
});
