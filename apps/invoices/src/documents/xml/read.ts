// From the bytes of an XML file to an invoice, whichever of the known syntaxes it is in. The syntax is told by the
// document element, never by a file name.
import { fieldText } from "../clean-text.ts";
import type { Invoice } from "../invoice.ts";
import type { Limits } from "../limits.ts";
import { ciiNames, readCii } from "./cii.ts";
import { parseXml } from "./node.ts";
import { readXmlSource } from "./source.ts";
import { isUbl, readUbl } from "./ubl.ts";

export type XmlReading =
  | { readonly type: "invoice"; readonly invoice: Invoice; readonly encodingCertain: boolean }
  /** An invoice by the name of its document element, in a syntax that nobody here reads. */
  | { readonly type: "foreign-invoice"; readonly rootName: string }
  | { readonly type: "other"; readonly rootName: string };

/** "invoice" in the languages whose national formats are about: FatturaElettronica, Facturae, Faktura, … */
const saysInvoice = /invoice|rechnung|fac?tt?ur|faktur|creditnote/i;

/** Reads XML. Throws `RejectedDocument` if it is unsafe or broken. */
export function readXml(
  bytes: Uint8Array,
  limits: Pick<Limits, "xmlDepth" | "xmlElements">,
  attachment: string | null = null,
): XmlReading {
  const { text, encodingCertain } = readXmlSource(bytes, limits);
  const root = parseXml(text);
  const cii = ciiNames(root.name);
  if (cii !== null) return { type: "invoice", invoice: readCii(root, cii, attachment), encodingCertain };
  if (isUbl(root.name)) return { type: "invoice", invoice: readUbl(root, attachment), encodingCertain };
  const rootName = fieldText(root.name) ?? "unnamed";
  return { type: saysInvoice.test(rootName) ? "foreign-invoice" : "other", rootName };
}
