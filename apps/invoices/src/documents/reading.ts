// What a reader of one kind of document brings home: an invoice, perhaps, and what it already knows to be doubtful.
// Whether that is enough is decided elsewhere.
import type { ExtractionMethod } from "./extraction.ts";
import { type Finding, review } from "./finding.ts";
import type { Invoice } from "./invoice.ts";

/** A reading without an invoice carries at least one finding that says why. */
export interface Reading {
  readonly method: ExtractionMethod;
  readonly invoice: Invoice | null;
  readonly findings: readonly Finding[];
}

/** A reading of nothing, for a person to look at. */
export function unreadable(code: string, message: string): Reading {
  return { method: "none", invoice: null, findings: [review(code, message)] };
}

/**
 * Pictures and scans. This is where recognised text will come in: a reader that turns the pictures into laid-out lines
 * hands them to `readTextFields`, as the text of a page is.
 */
export function noTextLayer(): Reading {
  return unreadable("no_text_layer", "The document is a picture without text, which is not read by machine.");
}
