// What a client of the application does: upload, and ask until it is decided.
import { setTimeout as delay } from "node:timers/promises";
import type { FullDocumentView } from "../src/store/views.ts";
import type { TakenIn } from "../src/web/upload.ts";
import type { AccountClient } from "./stage.ts";

/** Uploads a raw body, and expects to be answered with 202. */
export async function upload(account: AccountClient, bytes: Uint8Array, name = "invoice"): Promise<TakenIn> {
  const response = await account.fetch(`/invoices?name=${encodeURIComponent(name)}`, { method: "POST", body: bytes });
  if (response.status !== 202) throw new Error(`the upload was answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as TakenIn;
}

export async function getDocument(account: AccountClient, id: string): Promise<FullDocumentView> {
  const response = await account.fetch(`/invoices/${id}`);
  if (response.status !== 200) throw new Error(`document ${id} was answered ${response.status}`);
  return (await response.json()) as FullDocumentView;
}

/** Resolves when the document's job is over, in whatever way. */
export async function settled(account: AccountClient, id: string, attempts = 1): Promise<FullDocumentView> {
  for (const until = Date.now() + 25_000; Date.now() < until; ) {
    const document = await getDocument(account, id);
    const { state = "", attempts: made = 0 } = document.job ?? {};
    if (made >= attempts && (state === "done" || state === "failed" || state === "cancelled")) return document;
    await delay(25);
  }
  throw new Error(`the job of document ${id} did not end`);
}
