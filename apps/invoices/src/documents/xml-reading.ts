// Reads a document that is XML itself, or was attached to something as XML.
import { review } from "./finding.ts";
import type { Limits } from "./limits.ts";
import { type Reading, unreadable } from "./reading.ts";
import { RejectedDocument } from "./rejection.ts";
import { readXml } from "./xml/read.ts";

/** `attachment` is the file's name where the XML came with an e-mail, null where it is the document. */
export function readXmlDocument(bytes: Uint8Array, limits: Limits, attachment: string | null): Reading {
  const reading = readXml(bytes, limits, attachment);
  switch (reading.type) {
    case "invoice":
      return { method: "xml", invoice: reading.invoice, findings: encodingFindings(reading.encodingCertain) };
    case "foreign-invoice":
      return unreadable(
        "unsupported_syntax",
        `The XML is an invoice in a format that is not read here: ${reading.rootName}.`,
      );
    case "other":
      throw new RejectedDocument("unsupported_type", `XML, but no invoice: ${reading.rootName}`);
  }
}

/** What to say about XML whose declared encoding did not fit. */
export function encodingFindings(encodingCertain: boolean): Reading["findings"] {
  if (encodingCertain) return [];
  return [
    review("xml_encoding_uncertain", "The XML declares an encoding that is unknown or false; it was read as UTF-8."),
  ];
}
