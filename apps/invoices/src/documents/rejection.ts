// Why a document is refused for good: a closed set of codes, each with the sentence that a person reads. A rejection is
// the document's own fault and final. It must never be used for a fault of ours or of the machine: those are thrown as
// ordinary errors and tried again.
import { fieldText } from "./clean-text.ts";

const sentences = {
  empty_file: "The file is empty.",
  input_too_large: "The file is larger than the reader accepts.",
  unsupported_type: "The file is not a kind of document that can hold an invoice.",
  pdf_encrypted: "The PDF is protected by a password.",
  pdf_corrupt: "The PDF is damaged and cannot be opened.",
  too_many_pages: "The PDF has more pages than the reader accepts.",
  image_too_large: "A picture in the file would be too large once decoded.",
  xml_doctype_refused: "The XML declares a document type or entities, which invoices never need.",
  xml_not_wellformed: "The XML is not well-formed.",
  xml_too_complex: "The XML has too many elements or nests them too deep.",
  email_too_complex: "The e-mail has too many parts, nests them too deep or has oversized headers.",
  email_unreadable: "The e-mail cannot be taken apart.",
  limit_time: "Reading the document took too long and was stopped.",
  limit_memory: "Reading the document took too much memory and was stopped.",
  limit_output: "The document yields more text than the reader accepts.",
} as const;

/** The stable codes of a refusal; stored with the document and shown to its sender. */
export type RejectionCode = keyof typeof sentences;

export const rejectionCodes = Object.keys(sentences) as readonly RejectionCode[];

/** Thrown anywhere inside the reader when the document itself is at fault. */
export class RejectedDocument extends Error {
  readonly code: RejectionCode;

  /** `detail` says what was found, with figures where there are any; it follows the code's own sentence. */
  constructor(code: RejectionCode, detail?: string) {
    super(rejectionSentence(code, detail));
    this.name = "RejectedDocument";
    this.code = code;
  }
}

/** The sentence for a code, and what was found if that is known; a detail may well quote the document. */
export function rejectionSentence(code: RejectionCode, detail = ""): string {
  const found = fieldText(detail);
  return found === null ? sentences[code] : `${sentences[code]} (${found})`;
}
