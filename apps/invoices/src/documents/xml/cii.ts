// UN/CEFACT Cross Industry Invoice, in its two generations: D16B (`CrossIndustryInvoice`: Factur-X, ZUGFeRD 2,
// XRechnung) and the draft that ZUGFeRD 1.0 was built on (`CrossIndustryDocument`). They differ in the names of a few
// containers only.
import type { Invoice, InvoiceLine, VatRow } from "../invoice.ts";
import { createFieldReader, xmlDate } from "./mapping.ts";
import { allAt, amountAt, amountOf, attributeOf, firstAt, textAt, textOf, type XmlNode, type XmlRoot } from "./node.ts";

interface CiiNames {
  readonly syntax: "cii" | "zugferd1";
  readonly context: string;
  readonly header: string;
  readonly agreement: string;
  readonly settlement: string;
  readonly totals: string;
  readonly transaction: string;
  readonly lineSettlement: string;
  readonly lineTotals: string;
  readonly rate: string;
}

const d16b: CiiNames = {
  syntax: "cii",
  context: "ExchangedDocumentContext",
  header: "ExchangedDocument",
  transaction: "SupplyChainTradeTransaction",
  agreement: "ApplicableHeaderTradeAgreement",
  settlement: "ApplicableHeaderTradeSettlement",
  totals: "SpecifiedTradeSettlementHeaderMonetarySummation",
  lineSettlement: "SpecifiedLineTradeSettlement",
  lineTotals: "SpecifiedTradeSettlementLineMonetarySummation",
  rate: "RateApplicablePercent",
};

const zugferd1: CiiNames = {
  syntax: "zugferd1",
  context: "SpecifiedExchangedDocumentContext",
  header: "HeaderExchangedDocument",
  transaction: "SpecifiedSupplyChainTradeTransaction",
  agreement: "ApplicableSupplyChainTradeAgreement",
  settlement: "ApplicableSupplyChainTradeSettlement",
  totals: "SpecifiedTradeSettlementMonetarySummation",
  lineSettlement: "SpecifiedSupplyChainTradeSettlement",
  lineTotals: "SpecifiedTradeSettlementMonetarySummation",
  rate: "ApplicablePercent",
};

/** The CII generation of a document element, or null for another syntax. */
export function ciiNames(rootName: string): CiiNames | null {
  if (rootName === "CrossIndustryInvoice") return d16b;
  if (rootName === "CrossIndustryDocument") return zugferd1;
  return null;
}

/** Maps a CII document; `attachment` is the file inside a PDF or an e-mail that it came from. */
export function readCii(root: XmlRoot, names: CiiNames, attachment: string | null): Invoice {
  const settlement = `${names.transaction}/${names.settlement}`;
  const agreement = `${names.transaction}/${names.agreement}`;
  const totals = `${settlement}/${names.totals}`;
  const issued = `${names.header}/IssueDateTime/DateTimeString`;
  const fallsDue = `${settlement}/SpecifiedTradePaymentTerms/DueDateDateTime/DateTimeString`;
  const vat = `${totals}/TaxTotalAmount`;
  const { node } = root;

  const read = createFieldReader(
    root,
    {
      number: `${names.header}/ID`,
      typeCode: `${names.header}/TypeCode`,
      currency: `${settlement}/InvoiceCurrencyCode`,
      total: `${totals}/GrandTotalAmount`,
      net: `${totals}/TaxBasisTotalAmount`,
      due: `${totals}/DuePayableAmount`,
      prepaid: `${totals}/TotalPrepaidAmount`,
      seller: `${agreement}/SellerTradeParty/Name`,
      buyer: `${agreement}/BuyerTradeParty/Name`,
    },
    attachment,
  );
  const currency = read.text("currency");

  return {
    source: "xml",
    syntax: names.syntax,
    profile: textAt(node, `${names.context}/GuidelineSpecifiedDocumentContextParameter/ID`),
    number: read.text("number"),
    date: read.note("date", issued, ciiDate(firstAt(node, issued))),
    dueDate: read.note("dueDate", fallsDue, ciiDate(firstAt(node, fallsDue))),
    currency,
    total: read.amount("total"),
    net: read.amount("net"),
    vat: read.note("vat", vat, amountIn(currency, allAt(node, vat))),
    due: read.amount("due"),
    prepaid: read.amount("prepaid"),
    typeCode: read.text("typeCode"),
    seller: read.text("seller"),
    buyer: read.text("buyer"),
    lineTotal: amountAt(node, `${totals}/LineTotalAmount`),
    allowances: amountAt(node, `${totals}/AllowanceTotalAmount`),
    charges: amountAt(node, `${totals}/ChargeTotalAmount`),
    rounding: amountAt(node, `${totals}/RoundingAmount`),
    vatRows: allAt(node, `${settlement}/ApplicableTradeTax`).map((row) => vatRow(row, names)),
    lines: allAt(node, `${names.transaction}/IncludedSupplyChainTradeLineItem`).map((line) => invoiceLine(line, names)),
    ibans: allAt(node, `${settlement}/SpecifiedTradeSettlementPaymentMeans`)
      .map((means) => textAt(means, "PayeePartyCreditorFinancialAccount/IBANID"))
      .filter((iban) => iban !== null),
    provenance: read.provenance(),
  };
}

/**
 * VAT may be stated twice, also in the currency of the VAT account; the invoice's own currency is the one that adds up.
 */
function amountIn(currency: string | null, stated: readonly XmlNode[]): string | null {
  const own = stated.find((amount) => [null, currency].includes(attributeOf(amount, "currencyID")));
  return amountOf(own ?? null);
}

const formatYearMonthDay = "102";

function ciiDate(date: XmlNode | null): string | null {
  const format = attributeOf(date, "format");
  return format === null || format === formatYearMonthDay ? xmlDate(textOf(date)) : null;
}

function vatRow(row: XmlNode, names: CiiNames): VatRow {
  return {
    rate: amountAt(row, names.rate),
    basis: amountAt(row, "BasisAmount"),
    amount: amountAt(row, "CalculatedAmount"),
  };
}

function invoiceLine(line: XmlNode, names: CiiNames): InvoiceLine {
  return {
    name: textAt(line, "SpecifiedTradeProduct/Name"),
    net: amountAt(line, `${names.lineSettlement}/${names.lineTotals}/LineTotalAmount`),
  };
}
