// Statements about what was read from documents, and which document has an invoice number. All under the account's clamp.
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
    extracted_at: new Date(),
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

/**
 * The other document of the account that has this seller's invoice number; null for none. With `claim`, a number that
 * is free is this document's from now on: of two that are read at the same time, the second waits and is told the
 * first. What this document had claimed when it was read otherwise is given back.
 */
export async function findNumberHolder(
  db: Db,
  account: string,
  documentId: string,
  { seller, number }: { readonly seller: string | null; readonly number: string },
  claim: boolean,
): Promise<string | null> {
  const sellerKey = foldedName(seller);
  await db
    .deleteFrom("invoices.invoice_numbers")
    .where("account_id", "=", account)
    .where("document_id", "=", documentId)
    .where((row) => row.or([row("seller_key", "!=", sellerKey), row("number", "!=", number)]))
    .execute();
  if (claim) {
    await db
      .insertInto("invoices.invoice_numbers")
      .values({ account_id: account, seller_key: sellerKey, number, document_id: documentId })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
  const holder = await db
    .selectFrom("invoices.invoice_numbers")
    .select("document_id")
    .where("account_id", "=", account)
    .where("seller_key", "=", sellerKey)
    .where("number", "=", number)
    .executeTakeFirst();
  return holder === undefined || holder.document_id === documentId ? null : holder.document_id;
}

/**
 * "ACME GmbH" and "Acme  GmbH" are one seller. A seller that could not be read is one too: better asked than paid
 * twice.
 */
function foldedName(seller: string | null): string {
  return (seller ?? "").normalize("NFKC").toLowerCase().replace(/\s+/gu, " ").trim();
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
