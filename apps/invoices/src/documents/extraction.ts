// The answer of the reader: the outcome, the reasons for it, and the invoice if one was found. It is plain JSON: it
// crosses a process boundary, is stored, and is compared between attempts.
import type { Invoice } from "./invoice.ts";
import type { DocumentKind } from "./kind.ts";

/** Changes with every change that can change an answer; part of the key under which results are stored. */
export const extractorVersion = "1";

/** A stable code and one sentence for a person. */
export interface Reason {
  readonly code: string;
  readonly message: string;
}

/** How the fields were read; `embedded-xml` is XML that travels inside a PDF. */
export type ExtractionMethod = "embedded-xml" | "xml" | "text" | "none";

/**
 * What becomes of the document. `accepted`: everything was stated, and adds up. `needs_review`: a person decides,
 * `reasons` say about what. `rejected`: no reader and no later attempt will do better.
 */
type ExtractionOutcome = "accepted" | "needs_review" | "rejected";

export interface Extraction {
  readonly outcome: ExtractionOutcome;
  /** Empty if and only if the outcome is `accepted`. */
  readonly reasons: readonly Reason[];
  /** Oddities that change nothing, such as an IBAN with a wrong checksum. */
  readonly warnings: readonly Reason[];
  readonly kind: DocumentKind;
  readonly method: ExtractionMethod;
  /** Null when nothing could be read; may be incomplete unless accepted. */
  readonly invoice: Invoice | null;
  readonly extractorVersion: string;
}

/** The answer for a document that is refused for good. */
export function rejectedExtraction(kind: DocumentKind, reason: Reason): Extraction {
  return {
    outcome: "rejected",
    reasons: [reason],
    warnings: [],
    kind,
    method: "none",
    invoice: null,
    extractorVersion: extractorVersion,
  };
}
