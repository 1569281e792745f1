// Reads an e-mail by the one attachment that is the invoice: XML before a hybrid PDF, a hybrid before a plain PDF. Two
// of the best kind are a person's to choose from.
import { type EmailAttachment, readEmail } from "./email.ts";
import type { ExtractionMethod } from "./extraction.ts";
import { sniffKind } from "./kind.ts";
import type { Limits } from "./limits.ts";
import { readPdfDocument } from "./pdf-reading.ts";
import { noTextLayer, type Reading, unreadable } from "./reading.ts";
import { RejectedDocument } from "./rejection.ts";
import { readXmlDocument } from "./xml-reading.ts";

const methodsByPreference: readonly ExtractionMethod[] = ["xml", "embedded-xml", "text"];

export async function emailReading(bytes: Uint8Array, limits: Limits): Promise<Reading> {
  const readings: Reading[] = [];
  const rejections: RejectedDocument[] = [];
  for (const attachment of await readEmail(bytes, limits)) {
    try {
      const reading = await readAttachment(attachment, limits);
      if (reading !== null) readings.push(reading);
    } catch (error) {
      if (!(error instanceof RejectedDocument)) throw error;
      rejections.push(error);
    }
  }
  return pick(readings, rejections);
}

/** Null for what cannot be an invoice: signatures, calendars, business cards. */
async function readAttachment({ name, bytes }: EmailAttachment, limits: Limits): Promise<Reading | null> {
  switch (await sniffKind(bytes)) {
    case "xml":
      return readXmlDocument(bytes, limits, name);
    case "pdf":
      return readPdfDocument(bytes, limits);
    case "image":
      return noTextLayer();
    default:
      return null;
  }
}

function pick(readings: readonly Reading[], rejections: readonly RejectedDocument[]): Reading {
  for (const method of methodsByPreference) {
    const [reading, rival] = readings.filter((candidate) => candidate.method === method);
    if (rival !== undefined) return unreadable("email_several_invoices", "The e-mail carries more than one invoice.");
    if (reading !== undefined) return reading;
  }
  const [rejection] = rejections;
  if (rejection !== undefined) throw rejection;
  return readings[0] ?? unreadable("email_no_invoice", "The e-mail carries no attachment that could be an invoice.");
}
