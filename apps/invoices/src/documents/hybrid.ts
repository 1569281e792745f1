// Whether the two halves of a hybrid invoice say the same: the XML is what a machine books, the page is what a person
// sees and signs. A page that shows another number or total than the XML is a mistake or a fraud, and a person's to
// decide.
import { absoluteAmount, amountsAgree } from "./amount.ts";
import { type Finding, review } from "./finding.ts";
import type { Invoice } from "./invoice.ts";
import { type Line, lineText } from "./pdf/layout.ts";
import { findAmounts } from "./text/amounts.ts";

/** Findings about an invoice from embedded XML, given the text of the pages around it. */
export function checkHybrid(invoice: Invoice, lines: readonly Line[]): readonly Finding[] {
  if (lines.length === 0) {
    return [review("hybrid_page_unreadable", "The page has no text, so it cannot be compared with the embedded XML.")];
  }
  const missing = [
    ...(showsNumber(invoice.number, lines) ? [] : [`number ${invoice.number}`]),
    ...(showsTotal(invoice.total, lines) ? [] : [`total ${invoice.total}`]),
  ];
  if (missing.length === 0) return [];
  return [review("hybrid_mismatch", `The page does not show what the embedded XML states: ${missing.join(", ")}.`)];
}

function showsNumber(number: string | null, lines: readonly Line[]): boolean {
  return number === null || lines.some((line) => containsWhole(lineText(line), number));
}

/** "42" must not be found inside "20131122-42", "4200" or "RE42": those are other numbers. */
function containsWhole(text: string, wanted: string): boolean {
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) {
    const before = text.charAt(at - 1);
    const after = text.charAt(at + wanted.length);
    if (!numberGoesOn.test(before) && !numberGoesOn.test(after)) return true;
  }
  return false;
}

const numberGoesOn = /[\p{L}\d/_-]/u;

/** In absolute terms: the page of a credit note shows a minus where the XML, by its type code, needs none. */
function showsTotal(total: string | null, lines: readonly Line[]): boolean {
  if (total === null) return true;
  return lines.some((line) =>
    line.cells.some((cell) =>
      findAmounts(cell.text).some(({ value }) => amountsAgree(absoluteAmount(value), absoluteAmount(total))),
    ),
  );
}
