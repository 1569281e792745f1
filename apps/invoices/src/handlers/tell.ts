// What leaves the house when a document has been decided: webhook, usage, e-mail. All of it through the ledger, so that
// however often the job runs, each happens once.
import type { Job } from "doorbell-jobs";
import type { Extraction } from "../documents/extraction.ts";
import type { Account } from "../store/accounts.ts";
import { receivedMail } from "./mails.ts";

export async function tellAccepted(
  job: Job<unknown>,
  account: Account,
  documentId: string,
  { invoice }: Extraction,
  mailFrom: string,
): Promise<void> {
  if (invoice === null) throw new Error(`document ${documentId} was accepted without an invoice`);
  const { number, seller, date, dueDate, currency, total } = invoice;
  await sendWebhook(job, account, "invoice.accepted", { documentId, number, seller, date, dueDate, currency, total });
  await job.usage("documents", 1);
  await job.email({ key: "email:received", from: mailFrom, to: account.contact_email, ...receivedMail(invoice) });
}

export async function tellNeedsReview(
  job: Job<unknown>,
  account: Account,
  documentId: string,
  { reasons }: Extraction,
): Promise<void> {
  await sendWebhook(job, account, "invoice.needs_review", { documentId, reasons });
}

async function sendWebhook(job: Job<unknown>, account: Account, event: string, data: object): Promise<void> {
  const { webhook_url: url, webhook_secret: secret } = account;
  if (url === null) return;
  // The key is the event's alone: an account that moves its receiver is not told again.
  await job.webhook({ key: `webhook:${event}`, url, event, data, ...(secret === null ? {} : { secret }) });
}
