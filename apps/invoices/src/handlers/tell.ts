// What leaves the house when a document has been decided: webhook, usage, e-mail. All of it through the ledger, so that
// however often the job runs, each happens once.
import type { Job } from "doorbell-jobs";
import type { Extraction } from "../documents/extraction.ts";
import type { Invoice } from "../documents/invoice.ts";
import type { Account } from "../store/accounts.ts";

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
  await job.email({
    key: "email:received",
    from: mailFrom,
    to: account.contact_email,
    subject: `Invoice ${number} from ${seller ?? "an unnamed seller"}: ${amountToPay(invoice)}`,
    text: [`We have received invoice ${number}, and it adds up.`, "", ...paymentLines(invoice)].join("\n"),
  });
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

/** What is left to pay, where the document says so, else all of it. */
export function amountToPay({ due, total, currency }: Pick<Invoice, "due" | "total" | "currency">): string {
  return `${due ?? total} ${currency}`;
}

function paymentLines(invoice: Invoice): readonly string[] {
  return [
    `Seller:  ${invoice.seller ?? "not named"}`,
    `To pay:  ${amountToPay(invoice)}`,
    `Due on:  ${invoice.dueDate ?? "not stated"}`,
  ];
}
