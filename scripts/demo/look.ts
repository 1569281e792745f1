// Looks at what has become of the uploads so far: as each account is shown its documents, and as the ledger has their jobs.
import type { DocumentView } from "../../apps/invoices/src/store/views.ts";
import { listDocuments, type Upload } from "./client.ts";
import type { DemoFile } from "./files.ts";
import type { DemoDocument } from "./outcome.ts";
import type { Stand } from "./stand.ts";

/** A document that was uploaded, perhaps under several names. */
interface TakenDocument {
  readonly jobId: string;
  readonly files: DemoFile[];
}

/** Every document that was taken in. Throws when its account is not shown one of them. */
export async function look({ accounts, ledger, web }: Stand, uploads: readonly Upload[]): Promise<DemoDocument[]> {
  const taken = takenDocuments(uploads);
  const documents: DemoDocument[] = [];
  for (const account of accounts) {
    // Jobs first: what is asked for after a job has ended is as it left it.
    const jobs = new Map((await ledger.jobs(account.id)).map((job) => [job.id, job]));
    const letters = new Map((await ledger.deadLetters(account.id)).map((letter) => [letter.id, letter]));
    const shown = new Map((await listDocuments(web.url, account)).map((document) => [document.id, document]));
    for (const [id, { files, jobId }] of taken) {
      if (files[0]?.account !== account) continue;
      const [job, deadLetter] = [jobs.get(jobId) ?? null, letters.get(jobId) ?? null];
      documents.push({ account, files, shown: shown.get(id) ?? missing(id), job, deadLetter });
    }
  }
  return documents;
}

function takenDocuments(uploads: readonly Upload[]): ReadonlyMap<string, TakenDocument> {
  const documents = new Map<string, TakenDocument>();
  for (const upload of uploads) {
    if (!("taken" in upload)) continue;
    const { id, jobId } = upload.taken;
    const document = documents.get(id) ?? { jobId, files: [] };
    document.files.push(upload.file);
    documents.set(id, document);
  }
  return documents;
}

function missing(id: string): DocumentView {
  throw new Error(`document ${id} was taken in, and is not shown to its account`);
}
