// What an invoice asks of who received it: how much is left to pay, and whether anything is.
import { type Amount, compareAmounts } from "./amount.ts";
import type { Invoice } from "./invoice.ts";

/** Credit notes in the sense of UNTDID 1001: they state what is given back as positive amounts. */
const creditTypeCodes = new Set(["81", "83", "261", "262", "296", "308", "381", "396", "420", "458", "532"]);

export function isCreditNote({ typeCode }: Pick<Invoice, "typeCode">): boolean {
  return typeCode !== null && creditTypeCodes.has(typeCode);
}

/** What the document says is left to pay, else all of it; null where it states neither. */
export function amountToPay({ due, total }: Pick<Invoice, "due" | "total">): Amount | null {
  return due ?? total;
}

/** False for a credit note, and for what has been paid already. */
export function isToBePaid(invoice: Pick<Invoice, "typeCode" | "due" | "total">): boolean {
  return !isCreditNote(invoice) && compareAmounts(amountToPay(invoice) ?? "0.00", "0.00") > 0;
}
