// Statements about what was read from documents. All under the account's clamp.
import { sql } from "kysely";
import type { Extraction } from "../documents/extraction.ts";
import type { Invoice } from "../documents/invoice.ts";
import type { Db } from "./database.ts";

/** Keeps what was read, in place of what an earlier attempt read; nothing, where nothing was read. */
export async function saveExtracted(
  db: Db,
  account: string,
  documentId: string,
  extraction: Extraction,
): Promise<void> {
  const { invoice, extractorVersion } = extraction;
  if (invoice === null) {
    await db
      .deleteFrom("invoices.extracted_invoices")
      .where("account_id", "=", account)
      .where("document_id", "=", documentId)
      .execute();
    return;
  }
  const columns = {
    ...columnsOf(invoice),
    invoice: JSON.stringify(invoice),
    extractor_version: extractorVersion,
    extracted_at: sql<Date>`now()`,
  };
  await db
    .insertInto("invoices.extracted_invoices")
    .values({ account_id: account, document_id: documentId, ...columns })
    .onConflict((conflict) => conflict.columns(["account_id", "document_id"]).doUpdateSet(columns))
    .execute();
}

function columnsOf({ number, seller, buyer, date, dueDate, currency, total, net, vat, due }: Invoice) {
  return { number, seller, buyer, issued_on: date, due_on: dueDate, currency, total, net, vat, due };
}

/** The invoice of an accepted document; null when there is none, or the document is not accepted. */
export async function getAcceptedInvoice(db: Db, account: string, documentId: string): Promise<Invoice | null> {
  const row = await db
    .selectFrom("invoices.extracted_invoices as extracted")
    .innerJoin("invoices.documents as document", (join) =>
      join
        .onRef("document.account_id", "=", "extracted.account_id")
        .onRef("document.document_id", "=", "extracted.document_id"),
    )
    .select("extracted.invoice")
    .where("extracted.account_id", "=", account)
    .where("extracted.document_id", "=", documentId)
    .where("document.state", "=", "accepted")
    .executeTakeFirst();
  return row?.invoice ?? null;
}
