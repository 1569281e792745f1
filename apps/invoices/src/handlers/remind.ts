// Reminds an account a few days before an invoice is due. Scheduled in the transaction that accepts the invoice, as a job
// of its own: a process that ends in between takes nothing with it.
import { cancel, type Doorbell, type Handler, handle, type Tx } from "doorbell-jobs";
import type { Invoice } from "../documents/invoice.ts";
import { isToBePaid } from "../documents/payment.ts";
import { remindInvoice } from "../jobs.ts";
import { requireAccount } from "../store/accounts.ts";
import { onTransaction } from "../store/database.ts";
import { getAcceptedInvoice } from "../store/extracted.ts";
import { reminderMail } from "./mails.ts";

const daysAhead = 3;
const dayMs = 24 * 60 * 60 * 1000;

/**
 * Enqueues the reminder for the beginning of its day, in UTC. None where nothing is to be paid, no day is stated or the
 * reminder's has passed: the mail that the invoice has come is reminder enough. A document has at most one, however often
 * it is accepted.
 */
export async function scheduleReminder(
  doorbell: Doorbell,
  tx: Tx,
  account: string,
  documentId: string,
  invoice: Invoice,
): Promise<void> {
  if (invoice.dueDate === null || !isToBePaid(invoice)) return;
  const remindAt = new Date(Date.parse(invoice.dueDate) - daysAhead * dayMs);
  if (remindAt.getTime() <= Date.now()) return;
  await doorbell.enqueue(
    remindInvoice,
    { documentId },
    { tenant: account, tx, idempotencyKey: documentId, runAfter: remindAt },
  );
}

export function remindHandler(mailFrom: string): Handler {
  return handle(remindInvoice, async (job) => {
    const { documentId } = job.payload;
    const { account, invoice } = await job.transaction(async (tx) => {
      const db = onTransaction(tx);
      return {
        account: await requireAccount(db, job.tenant),
        invoice: await getAcceptedInvoice(db, job.tenant, documentId),
      };
    });
    if (invoice === null) return cancel(`document ${documentId} is not accepted any more`);
    await job.email({ key: "email:reminder", from: mailFrom, to: account.contact_email, ...reminderMail(invoice) });
    return;
  });
}
