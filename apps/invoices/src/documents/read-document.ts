// The whole way from bytes to an answer, for every kind of document: sniff, read, validate, decide. Runs inside the
// child process; it holds the bounds that readers can hold themselves, and relies on its parent for time and memory.
import { storableJson } from "./clean-text.ts";
import { emailReading } from "./email-reading.ts";
import { type Extraction, extractorVersion, type Reason, rejectedExtraction } from "./extraction.ts";
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
const rowsKeptMax = 200;
/** Reasons and warnings kept of each: a hostile document has one for every row, and no person reads on. */
const reasonsKeptMax = 50;

/** Reads one document. Throws only for faults of this program. `today` is `YYYY-MM-DD`. */
export async function readDocument(bytes: Uint8Array, limits: Limits, today: string): Promise<Extraction> {
  const kind = await sniffKind(bytes);
  try {
    return storableJson(decide(kind, await readByKind(kind, bytes, limits), today));
  } catch (error) {
    if (!(error instanceof RejectedDocument)) throw error;
    return rejectedExtraction(kind, { code: error.code, message: error.message });
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
  const reasons = reasonsOf(all, "review");
  return {
    outcome: invoice !== null && reasons.length === 0 ? "accepted" : "needs_review",
    reasons,
    warnings: reasonsOf(all, "warning"),
    kind,
    method,
    invoice: invoice === null ? null : withFewerRows(invoice),
    extractorVersion: extractorVersion,
  };
}

function reasonsOf(findings: readonly Finding[], severity: Finding["severity"]): readonly Reason[] {
  return findings
    .filter((finding) => finding.severity === severity)
    .slice(0, reasonsKeptMax)
    .map(({ code, message }) => ({ code, message }));
}

function withFewerRows(invoice: Invoice): Invoice {
  return {
    ...invoice,
    lines: invoice.lines.slice(0, rowsKeptMax),
    vatRows: invoice.vatRows.slice(0, rowsKeptMax),
    ibans: invoice.ibans.slice(0, rowsKeptMax),
  };
}
