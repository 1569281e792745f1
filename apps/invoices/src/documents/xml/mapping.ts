// The common ground of the XML mappers: reads a field at a path and remembers the path, so that provenance cannot drift
// away from the value. Knows nothing of any syntax.
import type { Invoice, InvoiceField, Provenance } from "../invoice.ts";
import { amountOf, firstAt, textOf, type XmlNode, type XmlRoot } from "./node.ts";

/**
 * Where the invoice's scalar fields stand in a syntax. Fields that need more than a path are read by the mapper itself.
 */
export type FieldPaths = { readonly [field in InvoiceField]?: string };

/** Reads fields of one document, collecting where each was found. */
export interface FieldReader {
  text(field: InvoiceField): string | null;
  amount(field: InvoiceField): string | null;
  /** For a value that the mapper picked itself among several: its text, on record as this field. */
  note(field: InvoiceField, path: string, value: string | null): string | null;
  provenance(): Invoice["provenance"];
}

/**
 * A reader over one document. `attachment` is the name of the file inside a PDF or an e-mail that the XML came from.
 */
export function createFieldReader(root: XmlRoot, paths: FieldPaths, attachment: string | null): FieldReader {
  const found: { [field in InvoiceField]?: Provenance } = {};
  const note = (field: InvoiceField, path: string, value: string | null) => {
    if (value !== null) found[field] = { from: "xml", path: `/${root.name}/${path}`, attachment };
    return value;
  };
  const read = (field: InvoiceField, take: (node: XmlNode | null) => string | null) => {
    const path = paths[field];
    return path === undefined ? null : note(field, path, take(firstAt(root.node, path)));
  };
  return {
    text: (field) => read(field, textOf),
    amount: (field) => read(field, amountOf),
    note,
    provenance: () => ({ ...found }),
  };
}

/**
 * `YYYY-MM-DD` of an `xs:date` ("2019-09-23", "2019-09-23+02:00") or a UN/CEFACT format 102 date ("20190923"); null for
 * the rest.
 */
export function xmlDate(text: string | null): string | null {
  const match = /^(\d{4})-?(\d{2})-?(\d{2})(?:Z|[+-]\d{2}:\d{2}|T.*)?$/.exec(text ?? "");
  if (match === null) return null;
  const [, year, month, day] = match;
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  const iso = `${year}-${month}-${day}`;
  return date.toISOString().startsWith(iso) ? iso : null;
}
