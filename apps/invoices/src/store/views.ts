// Documents as their account sees them: what was uploaded, what became of it, and what was read. Under the account's clamp.
import type { ExtractionMethod, Reason } from "../documents/extraction.ts";
import type { Invoice } from "../documents/invoice.ts";
import type { DocumentKind } from "../documents/kind.ts";
import type { Db } from "./database.ts";
import type { DocumentState } from "./schema.ts";

/** A document in a list. */
export interface DocumentView {
  readonly id: string;
  readonly state: DocumentState;
  readonly fileName: string | null;
  readonly sizeBytes: number;
  readonly sha256: string;
  /** Instants as ISO 8601, in UTC. */
  readonly receivedAt: string;
  /** Null while nothing is decided. */
  readonly decidedAt: string | null;
  /** What it is by its bytes, and how it was read. */
  readonly kind: DocumentKind | null;
  readonly method: ExtractionMethod | null;
  /** Why it is not accepted. */
  readonly reasons: readonly Reason[];
  readonly warnings: readonly Reason[];
  readonly invoice: InvoiceView | null;
}

/** A document by itself: with all that was read, where each field stands in it, and the job that reads it. */
export interface FullDocumentView extends DocumentView {
  readonly invoice: Invoice | null;
  readonly job: JobView | null;
}

/** Days as `YYYY-MM-DD`, amounts as decimal strings. */
type InvoiceView = Pick<
  Invoice,
  "number" | "date" | "dueDate" | "currency" | "total" | "net" | "vat" | "due" | "seller" | "buyer"
>;

/** Where the job stands: of interest while nothing is decided, and when it has ended in the dead letters. */
interface JobView {
  readonly id: string;
  readonly state: string;
  readonly attempts: number;
  readonly error: string | null;
}

/** Newest first; null for `before` begins at the newest. */
export async function listDocumentViews(
  db: Db,
  account: string,
  before: string | null,
  limit: number,
): Promise<readonly DocumentView[]> {
  // Ids are UUIDs v7: their order is the order of arrival.
  let query = selectViews(db, account).orderBy("document.document_id", "desc").limit(limit);
  if (before !== null) query = query.where("document.document_id", "<", before);
  return (await query.execute()).map(toView);
}

/** Null when the account has no such document. */
export async function getDocumentView(db: Db, account: string, id: string): Promise<FullDocumentView | null> {
  const row = await selectViews(db, account).where("document.document_id", "=", id).executeTakeFirst();
  if (row === undefined) return null;
  const job = await db
    .selectFrom("doorbell.all_jobs")
    .select(["id", "state", "attempts", "last_error as error"])
    .where("tenant_id", "=", account)
    .where("id", "=", row.jobId)
    .executeTakeFirst();
  return { ...toView(row), invoice: row.invoice, job: job ?? null };
}

function selectViews(db: Db, account: string) {
  return db
    .selectFrom("invoices.documents as document")
    .leftJoin("invoices.extracted_invoices as extracted", (join) =>
      join
        .onRef("extracted.account_id", "=", "document.account_id")
        .onRef("extracted.document_id", "=", "document.document_id"),
    )
    .where("document.account_id", "=", account)
    .select([
      "document.document_id as id",
      "document.state",
      "document.file_name as fileName",
      "document.size_bytes as sizeBytes",
      "document.sha256",
      "document.received_at as receivedAt",
      "document.decided_at as decidedAt",
      "document.kind",
      "document.method",
      "document.reasons",
      "document.warnings",
      "extracted.invoice",
      "document.job_id as jobId",
    ]);
}

type Row = Awaited<ReturnType<ReturnType<typeof selectViews>["execute"]>>[number];

function toView({ invoice, jobId: _, receivedAt, decidedAt, ...document }: Row): DocumentView {
  return {
    ...document,
    receivedAt: receivedAt.toISOString(),
    decidedAt: decidedAt?.toISOString() ?? null,
    invoice: invoice === null ? null : toInvoiceView(invoice),
  };
}

function toInvoiceView(invoice: Invoice): InvoiceView {
  const { number, date, dueDate, currency, total, net, vat, due, seller, buyer } = invoice;
  return { number, date, dueDate, currency, total, net, vat, due, seller, buyer };
}
