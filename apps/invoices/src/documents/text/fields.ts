// From the laid-out text of a document to an invoice, by labels and arithmetic. What stays open is said as a finding,
// so that nothing that was guessed is ever accepted.
import { fieldText } from "../clean-text.ts";
import { type Finding, review } from "../finding.ts";
import type { Invoice, InvoiceField, Provenance } from "../invoice.ts";
import type { Line } from "../pdf/layout.ts";
import { type Choice, choose, provenanceOf } from "./candidate.ts";
import { currencyCandidates } from "./currency.ts";
import { readDays } from "./days.ts";
import { numberCandidates } from "./number.ts";
import { buyerCandidates, sellerCandidates } from "./parties.ts";
import { readTotals } from "./totals.ts";

export interface TextReading {
  readonly invoice: Invoice;
  /** What a person has to settle before the invoice can be accepted. */
  readonly findings: readonly Finding[];
}

/** The fields without which nothing is accepted, and which must each stand behind a label of their own. */
const coreFields = ["number", "date", "currency", "total"] as const;

/** Reads the fields of a document from its text. Total: whatever the text, it answers. */
export function readTextFields(lines: readonly Line[]): TextReading {
  const currency = choose(currencyCandidates(lines));
  const days = readDays(lines, currency?.value === "USD" ? "month-first" : "day-first");
  const totals = readTotals(lines);
  const buyer = choose(buyerCandidates(lines));
  const choices: { readonly [field in InvoiceField]?: Choice<string> | null } = {
    number: choose(numberCandidates(lines)),
    date: days.date,
    dueDate: days.dueDate,
    currency,
    ...totals,
    seller: choose(sellerCandidates(lines, buyer?.value ?? null)),
    buyer,
  };
  const doubts = coreFields.flatMap((field) => doubtsAbout(field, choices[field] ?? null));
  return { invoice: invoiceOf(choices), findings: days.isOrderAssumed ? [...doubts, dayOrderAssumed] : doubts };
}

const dayOrderAssumed = review(
  "date_order_ambiguous",
  "The invoice date can be read with the day or the month first, and nothing in the document says which.",
);

function doubtsAbout(field: InvoiceField, choice: Choice<string> | null): readonly Finding[] {
  // A field that is missing altogether is the validator's to report.
  if (choice === null) return [];
  if (choice.rivals.length > 0) {
    const values = [choice.value, ...choice.rivals].slice(0, 4).join(", ");
    return [review(`${field}_ambiguous`, `The document states more than one ${field}: ${values}.`)];
  }
  if (choice.evidence !== "label") {
    const message = `The ${field} ${choice.value} is likely, but nothing in the document settles it.`;
    return [review(`${field}_unlabelled`, message)];
  }
  return [];
}

function invoiceOf(choices: { readonly [field in InvoiceField]?: Choice<string> | null }): Invoice {
  const value = (field: InvoiceField) => fieldText(choices[field]?.value ?? "");
  const provenance: { [field in InvoiceField]?: Provenance } = {};
  for (const [field, choice] of Object.entries(choices)) {
    if (choice !== null) provenance[field as InvoiceField] = provenanceOf(choice);
  }
  return {
    source: "text",
    syntax: "text",
    profile: null,
    number: value("number"),
    date: value("date"),
    dueDate: value("dueDate"),
    currency: value("currency"),
    total: value("total"),
    net: value("net"),
    vat: value("vat"),
    due: value("due"),
    prepaid: value("prepaid"),
    typeCode: null,
    seller: value("seller"),
    buyer: value("buyer"),
    lineTotal: null,
    allowances: null,
    charges: null,
    rounding: null,
    vatRows: [],
    lines: [],
    ibans: [],
    provenance,
  };
}
