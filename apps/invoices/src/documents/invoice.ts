// What is read from a document, whichever way it was read: one shape for XML and for text. A field that was not found
// is null, never a guess and never an empty string. Every field that was found says where.
import type { Amount } from "./amount.ts";

/** How sure a reader of text is: `high` means named by a label and without a rival. XML fields have no such doubt. */
export type Confidence = "high" | "medium" | "low";

/** Where a field stands in the document. Pages and lines count from 1; `quote` is the line as read. */
export type Provenance =
  | { readonly from: "xml"; readonly path: string; readonly attachment: string | null }
  | {
      readonly from: "text";
      readonly page: number;
      readonly line: number;
      readonly quote: string;
      readonly confidence: Confidence;
    };

/** The notation the fields came from. `text` is the printed page. */
type Syntax = "cii" | "zugferd1" | "ubl" | "text";

/** One position of the invoice. */
export interface InvoiceLine {
  readonly name: string | null;
  readonly net: Amount | null;
}

/** One row of the VAT breakdown; `rate` in percent. */
export interface VatRow {
  readonly rate: Amount | null;
  readonly basis: Amount | null;
  readonly amount: Amount | null;
}

/** The fields that carry their provenance. */
export type InvoiceField =
  | "number"
  | "date"
  | "dueDate"
  | "currency"
  | "total"
  | "net"
  | "vat"
  | "due"
  | "prepaid"
  | "typeCode"
  | "seller"
  | "buyer";

/** An invoice or credit note as its document states it. Amounts are decimal strings in `currency`. */
export interface Invoice {
  readonly source: "xml" | "text";
  readonly syntax: Syntax;
  /** The EN 16931 profile that the XML names, such as `urn:factur-x.eu:1p0:minimum`. */
  readonly profile: string | null;

  readonly number: string | null;
  /** Days as `YYYY-MM-DD`. */
  readonly date: string | null;
  readonly dueDate: string | null;
  /** ISO 4217, as stated. */
  readonly currency: string | null;
  /** With VAT (BT-112). Not what is left to pay: that is `due`. */
  readonly total: Amount | null;
  /** Without VAT (BT-109). */
  readonly net: Amount | null;
  readonly vat: Amount | null;
  readonly due: Amount | null;
  readonly prepaid: Amount | null;
  /** UNTDID 1001: 380 invoice, 381 credit note, … */
  readonly typeCode: string | null;
  readonly seller: string | null;
  readonly buyer: string | null;

  /** The sums between the positions and `net`, where the document states them. */
  readonly lineTotal: Amount | null;
  readonly allowances: Amount | null;
  readonly charges: Amount | null;
  readonly rounding: Amount | null;
  readonly vatRows: readonly VatRow[];
  readonly lines: readonly InvoiceLine[];
  readonly ibans: readonly string[];

  readonly provenance: { readonly [field in InvoiceField]?: Provenance };
}
