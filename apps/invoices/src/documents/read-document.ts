/**
 * The whole way from bytes to an answer, for every kind of document: sniff, read, validate, decide. Runs inside the
 * child process; it holds the bounds that readers can hold themselves, and relies on its parent for time and memory.
 */
import { emailReading } from "./email-reading.ts";
import { EXTRACTOR_VERSION, type Extraction, type Reason, rejectedExtraction } from "./extraction.ts";
import type { Finding } from "./finding.ts";
import type { Invoice } from "./invoice.ts";
import { type DocumentKind, sniffKind } from "./kind.ts";
import type { Limits } from "./limits.ts";
import { readPdfDocument } from "./pdf-reading.ts";
import { refuseOversizedImage } from "./picture-size.ts";
import { noTextLayer, type Reading } from "./reading.ts";
import { RejectedDocument } from "./rejection.ts";
import { validateInvoice } from "./validate.ts";
import { readXmlDocument } from "./xml-reading.ts";

/** Rows kept in the answer; all of them have been checked. */
const ROWS_KEPT_MAX = 200;

/** Reads one document. Throws only for faults of this program. `today` is `YYYY-MM-DD`. */
export async function readDocument(bytes: Uint8Array, limits: Limits, today: string): Promise<Extraction> {
  const kind = await sniffKind(bytes);
  try {
    return decide(kind, await readByKind(kind, bytes, limits), today);
  } catch (error) {
    if (error instanceof RejectedDocument)
      return rejectedExtraction(kind, { code: error.code, message: error.message });
    throw error;
  }
}

async function readByKind(kind: DocumentKind, bytes: Uint8Array, limits: Limits): Promise<Reading> {
  switch (kind) {
    case "pdf":
      return readPdfDocument(bytes, limits);
    case "xml":
      return readXmlDocument(bytes, limits, null);
    case "email":
      return emailReading(bytes, limits);
    case "image":
      refuseOversizedImage(bytes, limits.pictureBytes);
      return noTextLayer();
    case "empty":
      throw new RejectedDocument("empty_file");
    case "zip":
    case "html":
    case "unknown":
      throw new RejectedDocument("unsupported_type", kind === "unknown" ? "unknown format" : kind.toUpperCase());
  }
}

/** Accepted only if an invoice was read and nobody, reader or validator, has anything to say against it. */
function decide(kind: DocumentKind, { method, invoice, findings }: Reading, today: string): Extraction {
  const all = invoice === null ? findings : [...findings, ...validateInvoice(invoice, today)];
  const reasons = all.filter((finding) => finding.severity === "review").map(reasonOf);
  return {
    outcome: invoice !== null && reasons.length === 0 ? "accepted" : "needs_review",
    reasons,
    warnings: all.filter((finding) => finding.severity === "warning").map(reasonOf),
    kind,
    method,
    invoice: invoice === null ? null : withFewerRows(invoice),
    extractorVersion: EXTRACTOR_VERSION,
  };
}

function reasonOf({ code, message }: Finding): Reason {
  return { code, message };
}

function withFewerRows(invoice: Invoice): Invoice {
  return {
    ...invoice,
    lines: invoice.lines.slice(0, ROWS_KEPT_MAX),
    vatRows: invoice.vatRows.slice(0, ROWS_KEPT_MAX),
    ibans: invoice.ibans.slice(0, ROWS_KEPT_MAX),
  };
}
