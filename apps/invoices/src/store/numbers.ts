// Statements about who has an invoice number: the first document of an account that was accepted with it. All under the
// account's clamp.
import type { Db } from "./database.ts";

/** What one seller calls one invoice. Null for a seller that could not be read. */
export interface SellersNumber {
  readonly seller: string | null;
  readonly number: string;
}

/**
 * Makes the number the document's, unless another document has it: then that one's id. Of two that ask at the same time,
 * the second waits and is told of the first. A number that the document had before, read otherwise, is free again.
 */
export async function takeNumber(
  db: Db,
  account: string,
  documentId: string,
  wanted: SellersNumber,
): Promise<string | null> {
  const { number } = wanted;
  const sellerKey = foldedName(wanted.seller);
  await db
    .deleteFrom("invoices.invoice_numbers")
    .where("account_id", "=", account)
    .where("document_id", "=", documentId)
    .where((row) => row.or([row("seller_key", "!=", sellerKey), row("number", "!=", number)]))
    .execute();
  await db
    .insertInto("invoices.invoice_numbers")
    .values({ account_id: account, seller_key: sellerKey, number, document_id: documentId })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return await findOtherHolder(db, account, documentId, wanted);
}

/** The id of another document that has the number; null for none. */
export async function findOtherHolder(
  db: Db,
  account: string,
  documentId: string,
  { seller, number }: SellersNumber,
): Promise<string | null> {
  const holder = await db
    .selectFrom("invoices.invoice_numbers")
    .select("document_id")
    .where("account_id", "=", account)
    .where("seller_key", "=", foldedName(seller))
    .where("number", "=", number)
    .where("document_id", "!=", documentId)
    .executeTakeFirst();
  return holder?.document_id ?? null;
}

/** An index entry has room for so many, and for the number. Folding may make twenty letters of one. */
const foldedMaxChars = 200;

/**
 * "ACME GmbH" and "Acme  GmbH" are one seller. A seller that could not be read is one too: better asked than paid twice.
 */
function foldedName(seller: string | null): string {
  const folded = (seller ?? "").normalize("NFKC").toLowerCase().replace(/\s+/gu, " ").trim();
  return Array.from(folded).slice(0, foldedMaxChars).join("");
}
