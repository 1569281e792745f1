// A good invoice for tests, and variations of it.
import type { Invoice } from "../../src/documents/invoice.ts";

const goodInvoice: Invoice = {
  source: "xml",
  syntax: "cii",
  profile: "urn:cen.eu:en16931:2017",
  number: "RE-42",
  date: "2026-01-15",
  dueDate: "2026-02-14",
  currency: "EUR",
  total: "120.00",
  net: "100.00",
  vat: "20.00",
  due: "120.00",
  prepaid: null,
  typeCode: "380",
  seller: "Seller Ltd",
  buyer: "Buyer Ltd",
  lineTotal: null,
  allowances: null,
  charges: null,
  rounding: null,
  vatRows: [],
  lines: [],
  ibans: [],
  provenance: {},
};

/** The good invoice with some fields changed. */
export function invoiceWith(changes: Partial<Invoice>): Invoice {
  return { ...goodInvoice, ...changes };
}
