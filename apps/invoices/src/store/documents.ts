// Statements about uploaded documents. All under the account's clamp; the account is named as well, for the indexes.
import { type Selectable, sql } from "kysely";
import type { Extraction } from "../documents/extraction.ts";
import type { Db } from "./database.ts";
import type { InvoicesSchema } from "./schema.ts";

export type Document = Selectable<InvoicesSchema["invoices.documents"]>;

export type NewDocument = Pick<
  Document,
  "account_id" | "document_id" | "job_id" | "sha256" | "size_bytes" | "file_name"
>;

/** False: the account has a document of these bytes. Waits for a rival that is about to insert it. */
export async function insertDocument(db: Db, document: NewDocument): Promise<boolean> {
  const inserted = await db
    .insertInto("invoices.documents")
    .values(document)
    .onConflict((conflict) => conflict.columns(["account_id", "sha256"]).doNothing())
    .returning("document_id")
    .executeTakeFirst();
  return inserted !== undefined;
}

/** The document of these bytes. Throws when the account has none. */
export async function requireDocumentByHash(db: Db, account: string, sha256: string): Promise<Document> {
  return await db
    .selectFrom("invoices.documents")
    .selectAll()
    .where("account_id", "=", account)
    .where("sha256", "=", sha256)
    .executeTakeFirstOrThrow();
}

/** Writes what became of a document, over what an earlier attempt wrote. False: there is no such document. */
export async function recordDecision(
  db: Db,
  account: string,
  documentId: string,
  { outcome, kind, method, reasons, warnings }: Extraction,
): Promise<boolean> {
  const updated = await db
    .updateTable("invoices.documents")
    .set({
      state: outcome,
      kind,
      method,
      reasons: JSON.stringify(reasons),
      warnings: JSON.stringify(warnings),
      decided_at: sql<Date>`now()`,
    })
    .where("account_id", "=", account)
    .where("document_id", "=", documentId)
    .returning("document_id")
    .executeTakeFirst();
  return updated !== undefined;
}
