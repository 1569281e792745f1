// Reminds an account a few days before an invoice is due. Scheduled in the transaction that accepts the invoice, as a job
// of its own: a process that ends in between takes nothing with it.
import { cancel, type Doorbell, type Handler, handle, type Tx } from "doorbell-jobs";
import { remindInvoice } from "../jobs.ts";
import { requireAccount } from "../store/accounts.ts";
import { onTransaction } from "../store/database.ts";
import { getAcceptedInvoice } from "../store/extracted.ts";
import { amountToPay } from "./tell.ts";

const daysAhead = 3;
const dayMs = 24 * 60 * 60 * 1000;

/** Enqueues the reminder, unless its day has passed. A document has at most one, however often it is accepted. */
export async function scheduleReminder(
  doorbell: Doorbell,
  tx: Tx,
  account: string,
  documentId: string,
  dueDate: string | null,
): Promise<void> {
  if (dueDate === null) return;
  const remindAt = new Date(Date.parse(dueDate) - daysAhead * dayMs);
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
    await job.email({
      key: "email:reminder",
      from: mailFrom,
      to: account.contact_email,
      subject: `Invoice ${invoice.number} is due on ${invoice.dueDate}`,
      text: `${amountToPay(invoice)} to ${invoice.seller ?? "an unnamed seller"}.`,
    });
    return;
  });
}
