// UBL 2.1 Invoice and CreditNote, as used by EN 16931, PEPPOL BIS and XRechnung. The two differ in the names of the
// type code and of the lines only.
import type { Invoice } from "../invoice.ts";
import { createFieldReader, xmlDate } from "./mapping.ts";
import { allAt, amountAt, amountOf, attributeOf, firstAt, textAt, type XmlNode, type XmlRoot } from "./node.ts";

const totalsPath = "LegalMonetaryTotal";
const sellerPath = "AccountingSupplierParty/Party";
const buyerPath = "AccountingCustomerParty/Party";
const creditNoteCode = "381";

/** Whether the document element is one of the two that `readUbl` maps. */
export function isUbl(rootName: string): boolean {
  return rootName === "Invoice" || rootName === "CreditNote";
}

/** Maps a UBL document; `attachment` is the file inside a PDF or an e-mail that it came from. */
export function readUbl(root: XmlRoot, attachment: string | null): Invoice {
  const { node } = root;
  const isCreditNote = root.name === "CreditNote";
  const line = isCreditNote ? "CreditNoteLine" : "InvoiceLine";
  const dueDate = firstAt(node, "DueDate") === null ? "PaymentMeans/PaymentDueDate" : "DueDate";

  const read = createFieldReader(
    root,
    {
      number: "ID",
      typeCode: isCreditNote ? "CreditNoteTypeCode" : "InvoiceTypeCode",
      currency: "DocumentCurrencyCode",
      total: `${totalsPath}/TaxInclusiveAmount`,
      net: `${totalsPath}/TaxExclusiveAmount`,
      due: `${totalsPath}/PayableAmount`,
      prepaid: `${totalsPath}/PrepaidAmount`,
      seller: partyNamePath(node, sellerPath),
      buyer: partyNamePath(node, buyerPath),
    },
    attachment,
  );
  const currency = read.text("currency");
  const vat = vatTotal(node, currency);

  return {
    source: "xml",
    syntax: "ubl",
    profile: textAt(node, "CustomizationID"),
    number: read.text("number"),
    date: read.note("date", "IssueDate", xmlDate(textAt(node, "IssueDate"))),
    dueDate: read.note("dueDate", dueDate, xmlDate(textAt(node, dueDate))),
    currency,
    total: read.amount("total"),
    net: read.amount("net"),
    vat: read.note("vat", "TaxTotal/TaxAmount", vat === null ? null : amountAt(vat, "TaxAmount")),
    due: read.amount("due"),
    prepaid: read.amount("prepaid"),
    typeCode: read.text("typeCode") ?? (isCreditNote ? creditNoteCode : null),
    seller: read.text("seller"),
    buyer: read.text("buyer"),
    lineTotal: amountAt(node, `${totalsPath}/LineExtensionAmount`),
    allowances: amountAt(node, `${totalsPath}/AllowanceTotalAmount`),
    charges: amountAt(node, `${totalsPath}/ChargeTotalAmount`),
    rounding: amountAt(node, `${totalsPath}/PayableRoundingAmount`),
    vatRows: (vat === null ? [] : allAt(vat, "TaxSubtotal")).map((row) => ({
      rate: amountAt(row, "TaxCategory/Percent"),
      basis: amountAt(row, "TaxableAmount"),
      amount: amountAt(row, "TaxAmount"),
    })),
    lines: allAt(node, line).map((item) => ({
      name: textAt(item, "Item/Name"),
      net: amountOf(firstAt(item, "LineExtensionAmount")),
    })),
    ibans: allAt(node, "PaymentMeans")
      .map((means) => textAt(means, "PayeeFinancialAccount/ID"))
      .filter((id) => id !== null)
      .filter((id) => /^[A-Z]{2}\d{2}/.test(id)),
    provenance: read.provenance(),
  };
}

/** The registered name, which EN 16931 asks for, else the trading name. */
function partyNamePath(node: XmlNode, party: string): string {
  const registered = `${party}/PartyLegalEntity/RegistrationName`;
  return textAt(node, registered) === null ? `${party}/PartyName/Name` : registered;
}

/**
 * There may be a second total in the currency of the VAT account; the one in the invoice's own currency is the one that
 * adds up.
 */
function vatTotal(node: XmlNode, currency: string | null): XmlNode | null {
  const totals = allAt(node, "TaxTotal");
  return (
    totals.find((total) => [null, currency].includes(attributeOf(firstAt(total, "TaxAmount"), "currencyID"))) ?? null
  );
}
