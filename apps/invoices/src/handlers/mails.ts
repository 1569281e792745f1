// The e-mails that an account gets about an accepted invoice, as text. Pure: sending them is the ledger's.
import { fieldText } from "../documents/clean-text.ts";
import type { Invoice } from "../documents/invoice.ts";
import { amountToPay, isCreditNote, isToBePaid } from "../documents/payment.ts";

export interface MailText {
  readonly subject: string;
  readonly text: string;
}

/** That it has come, and adds up. */
export function receivedMail(invoice: Invoice): MailText {
  return {
    subject: `${nameOf(invoice)} from ${sellerOf(invoice)}: ${invoice.total} ${invoice.currency}`,
    text: [`We have received ${nameOf(invoice)}, and it adds up.`, "", ...factsOf(invoice)].join("\n"),
  };
}

/** That it is soon due. */
export function reminderMail(invoice: Invoice): MailText {
  return { subject: `${nameOf(invoice)} is due on ${invoice.dueDate}`, text: factsOf(invoice).join("\n") };
}

function factsOf(invoice: Invoice): readonly string[] {
  const { total, currency, dueDate } = invoice;
  const facts = [`Seller:  ${sellerOf(invoice)}`, `Total:   ${total} ${currency}`];
  if (!isToBePaid(invoice)) return [...facts, "Nothing is left to pay."];
  return [...facts, `To pay:  ${amountToPay(invoice)} ${currency}`, `Due on:  ${dueDate ?? "not stated"}`];
}

/** A subject has no room for all that a document may call itself. */
const nameMaxChars = 80;

function nameOf(invoice: Invoice): string {
  return `${isCreditNote(invoice) ? "Credit note" : "Invoice"} ${fieldText(invoice.number ?? "", nameMaxChars)}`;
}

function sellerOf({ seller }: Invoice): string {
  return fieldText(seller ?? "", nameMaxChars) ?? "an unnamed seller";
}
