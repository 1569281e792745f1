// Takes an upload in: the bytes under their hash, then the document's row and its job in one transaction of the
// application's own. Nothing is read here, so the answer never waits for a reader.
import { contentKey, newId } from "doorbell-jobs";
import { extractInvoice } from "../jobs.ts";
import type { Resources } from "../resources.ts";
import { asAccount } from "../store/database.ts";
import { insertDocument, requireDocumentByHash } from "../store/documents.ts";
import type { UploadedFile } from "./uploaded-file.ts";

export interface TakenIn {
  readonly id: string;
  readonly jobId: string;
  /** These bytes had come before: it is the same document, and the same job. */
  readonly duplicate: boolean;
}

/** May be repeated at will, also after an answer that was lost. */
export async function takeIn(resources: Resources, account: string, { bytes, name }: UploadedFile): Promise<TakenIn> {
  const { doorbell } = resources;
  // Before the transaction: bytes without a row are harmless, a row without bytes is not.
  const object = await doorbell.objects.put(account, contentKey(bytes), bytes);
  return await asAccount(resources, account, async (db, tx) => {
    const [documentId, jobId] = [newId(), newId()];
    const isNew = await insertDocument(db, {
      account_id: account,
      document_id: documentId,
      job_id: jobId,
      sha256: object.sha256,
      size_bytes: object.size,
      file_name: name,
    });
    if (!isNew) {
      const known = await requireDocumentByHash(db, account, object.sha256);
      return { id: known.document_id, jobId: known.job_id, duplicate: true };
    }
    await doorbell.enqueue(extractInvoice, { documentId }, { tenant: account, tx, id: jobId, object });
    return { id: documentId, jobId, duplicate: false };
  });
}
