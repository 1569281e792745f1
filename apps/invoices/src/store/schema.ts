// The tables as Kysely sees them, one interface a table; sql/ says what they mean.
import type { ColumnType, Generated, JSONColumnType } from "kysely";
import type { ExtractionMethod, Reason } from "../documents/extraction.ts";
import type { Invoice } from "../documents/invoice.ts";
import type { DocumentKind } from "../documents/kind.ts";

export type DocumentState = "received" | "accepted" | "needs_review" | "rejected";

/** `YYYY-MM-DD`, in and out. */
type Day = string;
/** A decimal string, in and out. */
type Decimal = string;
type ReadOnly<T> = ColumnType<T, never, never>;
type JsonList<T> = ColumnType<readonly T[], string | undefined, string>;

interface AccountsTable {
  account_id: string;
  name: string;
  contact_email: string;
  webhook_url: string | null;
  webhook_secret: string | null;
  created_at: Generated<Date>;
}

interface TokensTable {
  account_id: string;
  token_sha256: Buffer;
  created_at: Generated<Date>;
}

interface DocumentsTable {
  account_id: string;
  document_id: string;
  sha256: string;
  size_bytes: number;
  file_name: string | null;
  job_id: string;
  received_at: Generated<Date>;
  state: Generated<DocumentState>;
  kind: DocumentKind | null;
  method: ExtractionMethod | null;
  reasons: JsonList<Reason>;
  warnings: JsonList<Reason>;
  decided_at: Date | null;
}

interface ExtractedInvoicesTable {
  account_id: string;
  document_id: string;
  number: string | null;
  seller: string | null;
  buyer: string | null;
  issued_on: Day | null;
  due_on: Day | null;
  currency: string | null;
  total: Decimal | null;
  net: Decimal | null;
  vat: Decimal | null;
  due: Decimal | null;
  invoice: JSONColumnType<Invoice>;
  extractor_version: string;
  extracted_at: Generated<Date>;
}

interface InvoiceNumbersTable {
  account_id: string;
  seller_key: string;
  number: string;
  document_id: string;
}

/** Doorbell's own view of every job, readable under the clamp: as much of it as is shown. */
interface AllJobsView {
  tenant_id: ReadOnly<string>;
  id: ReadOnly<string>;
  state: ReadOnly<string>;
  attempts: ReadOnly<number>;
  last_error: ReadOnly<string | null>;
}

export interface InvoicesSchema {
  "invoices.accounts": AccountsTable;
  "invoices.tokens": TokensTable;
  "invoices.documents": DocumentsTable;
  "invoices.extracted_invoices": ExtractedInvoicesTable;
  "invoices.invoice_numbers": InvoiceNumbersTable;
  "doorbell.all_jobs": AllJobsView;
}
