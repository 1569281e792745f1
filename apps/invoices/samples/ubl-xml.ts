// A bill as UBL 2.1, as an invoice or as a credit note over the same amounts.
import { type Bill, type BillTotals, billTotals, decimal, lineCents, type Party } from "./bill.ts";
import { element as e, type Markup, xmlDocument } from "./xml-text.ts";

export interface UblOptions {
  readonly type?: "Invoice" | "CreditNote";
  /** Added to the stated total, to make sums that do not add up. */
  readonly totalErrorCents?: number;
}

export function ublXml(bill: Bill, { type = "Invoice", totalErrorCents = 0 }: UblOptions = {}): Uint8Array {
  const isInvoice = type === "Invoice";
  const totals = billTotals(bill);
  return xmlDocument(
    e(
      type,
      [
        e("cbc:CustomizationID", ["urn:cen.eu:en16931:2017"]),
        e("cbc:ID", [bill.number]),
        e("cbc:IssueDate", [bill.date]),
        ...(isInvoice ? [e("cbc:DueDate", [bill.dueDate])] : []),
        e(`cbc:${type}TypeCode`, [isInvoice ? "380" : "381"]),
        e("cbc:DocumentCurrencyCode", [bill.currency]),
        e("cac:AccountingSupplierParty", [party(bill.seller)]),
        e("cac:AccountingCustomerParty", [party(bill.buyer)]),
        e("cac:PaymentMeans", [
          e("cbc:PaymentMeansCode", ["58"]),
          e("cac:PayeeFinancialAccount", [e("cbc:ID", [bill.seller.iban])]),
        ]),
        taxTotal(bill, totals),
        monetaryTotal(bill, totals, totalErrorCents),
        ...bill.lines.map((_, index) => invoiceLine(bill, index, isInvoice)),
      ],
      {
        xmlns: `urn:oasis:names:specification:ubl:schema:xsd:${type}-2`,
        "xmlns:cac": "urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2",
        "xmlns:cbc": "urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2",
      },
    ),
  );
}

function taxTotal(bill: Bill, { vatCents, rates }: BillTotals): Markup {
  return e("cac:TaxTotal", [
    money("cbc:TaxAmount", vatCents, bill),
    ...rates.map((rate) =>
      e("cac:TaxSubtotal", [
        money("cbc:TaxableAmount", rate.basisCents, bill),
        money("cbc:TaxAmount", rate.vatCents, bill),
        taxCategory("cac:TaxCategory", rate.percent),
      ]),
    ),
  ]);
}

function monetaryTotal(bill: Bill, { netCents, totalCents }: BillTotals, totalErrorCents: number): Markup {
  const statedCents = totalCents + totalErrorCents;
  return e("cac:LegalMonetaryTotal", [
    money("cbc:LineExtensionAmount", netCents, bill),
    money("cbc:TaxExclusiveAmount", netCents, bill),
    money("cbc:TaxInclusiveAmount", statedCents, bill),
    money("cbc:PayableAmount", statedCents, bill),
  ]);
}

function invoiceLine(bill: Bill, index: number, isInvoice: boolean): Markup {
  const line = bill.lines[index];
  if (line === undefined) throw new RangeError(`bill ${bill.number} has no line ${index}`);
  return e(isInvoice ? "cac:InvoiceLine" : "cac:CreditNoteLine", [
    e("cbc:ID", [String(index + 1)]),
    e(isInvoice ? "cbc:InvoicedQuantity" : "cbc:CreditedQuantity", [String(line.quantity)], { unitCode: "C62" }),
    money("cbc:LineExtensionAmount", lineCents(line), bill),
    e("cac:Item", [e("cbc:Name", [line.name]), taxCategory("cac:ClassifiedTaxCategory", line.ratePercent)]),
    e("cac:Price", [money("cbc:PriceAmount", line.unitCents, bill)]),
  ]);
}

function party({ name, street, city, postcode, country, vatId }: Party): Markup {
  return e("cac:Party", [
    e("cac:PostalAddress", [
      e("cbc:StreetName", [street]),
      e("cbc:CityName", [city]),
      e("cbc:PostalZone", [postcode]),
      e("cac:Country", [e("cbc:IdentificationCode", [country])]),
    ]),
    e("cac:PartyTaxScheme", [e("cbc:CompanyID", [vatId]), e("cac:TaxScheme", [e("cbc:ID", ["VAT"])])]),
    e("cac:PartyLegalEntity", [e("cbc:RegistrationName", [name])]),
  ]);
}

function taxCategory(name: string, percent: number): Markup {
  return e(name, [e("cbc:ID", ["S"]), e("cbc:Percent", [String(percent)]), e("cac:TaxScheme", [e("cbc:ID", ["VAT"])])]);
}

function money(name: string, cents: number, bill: Bill): Markup {
  return e(name, [decimal(cents)], { currencyID: bill.currency });
}
