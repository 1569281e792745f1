// Whether an invoice says what an invoice must say, and whether that is possible: required fields, days, currency,
// signs, parties, account numbers. The sums have a file of their own. Pure: today is passed in. Duplicates are the
// caller's to find, it has the other invoices.
import { isValidIBAN } from "ibantools";
import { isNegative } from "./amount.ts";
import { fieldMaxChars } from "./clean-text.ts";
import { isCurrencyCode } from "./currency-code.ts";
import { type Finding, review, warning } from "./finding.ts";
import type { Invoice } from "./invoice.ts";
import { isCreditNote } from "./payment.ts";
import { checkSums } from "./validate-sums.ts";

const requiredFields = ["number", "date", "currency", "total", "net", "vat"] as const;
const earliestDay = "2000-01-01";
/** Invoices are dated ahead, but not far. */
const daysAheadMax = 60;
const dayMs = 24 * 60 * 60 * 1000;

/** Every finding about an invoice; none of severity `review` means that it may be accepted. `today` is `YYYY-MM-DD`. */
export function validateInvoice(invoice: Invoice, today: string): readonly Finding[] {
  return [
    ...checkRequired(invoice),
    ...checkNumber(invoice),
    ...checkDays(invoice, today),
    ...checkCurrency(invoice),
    ...checkSigns(invoice),
    ...checkSums(invoice),
    ...checkParties(invoice),
    ...checkIbans(invoice),
  ];
}

function checkRequired(invoice: Invoice): readonly Finding[] {
  return requiredFields
    .filter((field) => invoice[field] === null)
    .map((field) => review(`missing_${field}`, `The document does not state the ${field}.`));
}

function checkNumber({ number }: Invoice): readonly Finding[] {
  if (number === null || number.length < fieldMaxChars) return [];
  return [review("number_too_long", "The invoice number is too long to be one.")];
}

function checkDays({ date, dueDate }: Invoice, today: string): readonly Finding[] {
  const findings: Finding[] = [];
  const latest = new Date(Date.parse(today) + daysAheadMax * dayMs).toISOString().slice(0, 10);
  if (date !== null && (date < earliestDay || date > latest)) {
    findings.push(review("date_implausible", `The invoice date ${date} is before ${earliestDay} or after ${latest}.`));
  }
  if (date !== null && dueDate !== null && dueDate < date) {
    findings.push(review("due_before_date", `The due date ${dueDate} is before the invoice date ${date}.`));
  }
  return findings;
}

function checkCurrency({ currency }: Invoice): readonly Finding[] {
  if (currency === null || isCurrencyCode(currency)) return [];
  return [review("currency_unknown", `${currency} is not an ISO 4217 currency code.`)];
}

/**
 * EN 16931 allows negative totals, but here somebody has either negated twice or sent a credit under the code of an
 * invoice.
 */
function checkSigns(invoice: Invoice): readonly Finding[] {
  const { source, total, typeCode } = invoice;
  if (total === null || !isNegative(total)) return [];
  if (source === "text") return [review("sign_unusual", `The total ${total} is negative: a credit note, perhaps.`)];
  const kind = isCreditNote(invoice)
    ? "a credit note, which states positive amounts"
    : `a document of type ${typeCode}`;
  return [review("sign_unusual", `The total ${total} is negative on ${kind}.`)];
}

function checkParties({ seller, buyer }: Invoice): readonly Finding[] {
  if (seller === null || buyer === null || seller.toLowerCase() !== buyer.toLowerCase()) return [];
  return [warning("seller_is_buyer", `Seller and buyer are both "${seller}".`)];
}

function checkIbans({ ibans }: Invoice): readonly Finding[] {
  return ibans
    .filter((iban) => !isValidIBAN(iban.replace(/\s/g, "").toUpperCase()))
    .map((iban) => warning("iban_invalid", `The account number "${iban.slice(0, 40)}" is not a valid IBAN.`));
}
