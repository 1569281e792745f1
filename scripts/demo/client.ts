// The demo as its accounts: it uploads and asks through HTTP, as anybody would, and knows nothing else of the application.
import type { DocumentView } from "../../apps/invoices/src/store/views.ts";
import type { TakenIn } from "../../apps/invoices/src/web/upload.ts";
import type { DemoAccount } from "./accounts.ts";
import type { DemoFile } from "./files.ts";

/** What an upload came to: a document, or a refusal at the door. */
export type Upload =
  | { readonly file: DemoFile; readonly taken: TakenIn }
  | { readonly file: DemoFile; readonly refused: { readonly code: string; readonly detail: string } };

const tries = 5;
const pauseMs = 300;

/** An upload that fails on the way is sent again: the same bytes are the same document. */
export async function uploadFile(webUrl: string, file: DemoFile): Promise<Upload> {
  const url = `${webUrl}/invoices?name=${encodeURIComponent(file.name)}`;
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(url, { method: "POST", headers: headersOf(file.account), body: file.bytes }).catch(
      (error: Error) => error,
    );
    if (response instanceof Response && response.status === 202) {
      return { file, taken: (await response.json()) as TakenIn };
    }
    if (response instanceof Response && response.status < 500) {
      return { file, refused: (await response.json()) as { code: string; detail: string } };
    }
    if (attempt === tries) {
      const why = response instanceof Response ? `was answered ${response.status}` : `failed: ${response.message}`;
      throw new Error(`the upload of ${file.name} ${why}`);
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs * attempt));
  }
}

/** All documents of an account, newest first. */
export async function listDocuments(webUrl: string, account: DemoAccount): Promise<readonly DocumentView[]> {
  const documents: DocumentView[] = [];
  for (let before = ""; ; ) {
    const response = await fetch(`${webUrl}/invoices${before}`, { headers: headersOf(account) });
    if (!response.ok) throw new Error(`the list of ${account.id} was answered ${response.status}`);
    const { invoices } = (await response.json()) as { readonly invoices: readonly DocumentView[] };
    documents.push(...invoices);
    const last = invoices.at(-1);
    if (last === undefined) return documents;
    before = `?before=${last.id}`;
  }
}

function headersOf({ token }: DemoAccount): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}
