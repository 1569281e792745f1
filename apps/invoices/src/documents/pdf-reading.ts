// Reads a PDF: the embedded XML if there is one, compared with the page; else the text of the page; else it is a
// picture.
import { type Finding, review } from "./finding.ts";
import { checkHybrid } from "./hybrid.ts";
import type { Invoice } from "./invoice.ts";
import { sniffKind } from "./kind.ts";
import type { Limits } from "./limits.ts";
import { lineText } from "./pdf/layout.ts";
import { type PdfAttachment, type PdfContent, readPdf } from "./pdf/read.ts";
import { noTextLayer, type Reading } from "./reading.ts";
import { RejectedDocument } from "./rejection.ts";
import { readTextFields } from "./text/fields.ts";
import { readXml } from "./xml/read.ts";
import { encodingFindings } from "./xml-reading.ts";

/** The names that Factur-X, ZUGFeRD 1.0 and 2.x and XRechnung give to the one attachment that is the invoice. */
const standardName = /^(?:factur-x|zugferd-invoice|xrechnung)\.xml$/i;
/** Fewer letters than this are a stamp on a picture, not the text of an invoice. */
const textMinChars = 40;

export async function readPdfDocument(bytes: Uint8Array, limits: Limits): Promise<Reading> {
  const content = await readPdf(bytes, limits);
  const embedded = await embeddedInvoices(content.attachments, limits);
  const [invoice, rival] = embedded.invoices;
  if (invoice !== undefined) {
    const findings = [
      ...embedded.findings,
      ...(rival === undefined ? [] : [severalInvoices]),
      ...checkHybrid(invoice, content.lines),
    ];
    return { method: "embedded-xml", invoice, findings };
  }
  const printed = readPrinted(content);
  return { ...printed, findings: [...embedded.findings, ...printed.findings] };
}

const severalInvoices = review("embedded_xml_several", "The PDF carries more than one XML invoice.");

interface Embedded {
  readonly invoices: readonly Invoice[];
  readonly findings: readonly Finding[];
}

/** Attachments under a standard name come first; any other XML counts only where there is none of those. */
async function embeddedInvoices(attachments: readonly PdfAttachment[], limits: Limits): Promise<Embedded> {
  const standard = attachments.filter(({ name }) => standardName.test(name));
  const invoices: Invoice[] = [];
  const findings: Finding[] = [];
  for (const { name, bytes } of standard.length > 0 ? standard : attachments) {
    if ((await sniffKind(bytes)) !== "xml") continue;
    try {
      const reading = readXml(bytes, limits, name);
      if (reading.type !== "invoice") continue;
      invoices.push(reading.invoice);
      findings.push(...encodingFindings(reading.encodingCertain));
    } catch (error) {
      if (!(error instanceof RejectedDocument)) throw error;
      findings.push(review("embedded_xml_unreadable", `${name}: ${error.message}`));
    }
  }
  return { invoices, findings };
}

function readPrinted({ lines, readWhole }: PdfContent): Reading {
  const letters = lines.reduce((sum, line) => sum + lineText(line).replace(/\s/g, "").length, 0);
  if (letters < textMinChars) return noTextLayer();
  const { invoice, findings } = readTextFields(lines);
  return { method: "text", invoice, findings: readWhole ? findings : [...findings, pagesUnread] };
}

const pagesUnread = review(
  "pages_unread",
  "The document has more pages than were read, so that its totals may be elsewhere.",
);
