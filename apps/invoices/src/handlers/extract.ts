// From an uploaded document to a decision that its account is told of: fetch, extract, validate, persist, tell. Every step
// may run again: reading and deciding are done afresh and written over, and what left the house is kept by the ledger.
import { type Doorbell, type Handler, handle, type Job, PermanentError } from "doorbell-jobs";
import { extractDocument } from "../documents/extract-document.ts";
import type { Extraction } from "../documents/extraction.ts";
import { extractInvoice } from "../jobs.ts";
import { type Account, requireAccount } from "../store/accounts.ts";
import { onTransaction } from "../store/database.ts";
import { recordDecision } from "../store/documents.ts";
import { saveExtracted } from "../store/extracted.ts";
import { findOtherHolder, takeNumber } from "../store/numbers.ts";
import { scheduleReminder } from "./remind.ts";
import { tellAccepted, tellNeedsReview } from "./tell.ts";

export function extractHandler(doorbell: Doorbell, mailFrom: string): Handler {
  return handle(extractInvoice, async (job) => {
    const { documentId } = job.payload;

    const bytes = await job.stage("fetch", () => job.object());
    const extraction = await job.stage("extract", () => extractDocument(bytes, { signal: job.signal }));
    const decision = await job.stage("validate", () => validate(job, documentId, extraction));
    const account = await job.stage("persist", () => persist(job, doorbell, documentId, decision));

    switch (decision.outcome) {
      case "accepted":
        await job.stage("tell", () => tellAccepted(job, account, documentId, decision, mailFrom));
        break;
      case "needs_review":
        await job.stage("tell", () => tellNeedsReview(job, account, documentId, decision));
        break;
      case "rejected": {
        // No later attempt will do better. The document's row says so already; this is for whoever runs the system.
        const { code, message } = decision.reasons[0] ?? { code: "rejected", message: "The document was refused." };
        throw new PermanentError(code, message);
      }
    }
    return { outcome: decision.outcome, reasons: decision.reasons.map((reason) => reason.code) };
  });
}

/** The sums were checked by the reader; what takes knowledge of the other documents is checked here. */
async function validate(job: Job<unknown>, documentId: string, extraction: Extraction): Promise<Extraction> {
  const { outcome, invoice } = extraction;
  if (invoice === null || invoice.number === null) return extraction;
  const { seller, number } = invoice;
  const otherId = await job.transaction((tx) => {
    // What is not accepted takes no number: the corrected invoice that comes after it will.
    const askFor = outcome === "accepted" ? takeNumber : findOtherHolder;
    return askFor(onTransaction(tx), job.tenant, documentId, { seller, number });
  });
  if (otherId === null) return extraction;
  const reason = {
    code: "duplicate_number",
    message: `Invoice ${number} of ${seller ?? "this seller"} has come before, as document ${otherId}.`,
  };
  return { ...extraction, outcome: "needs_review", reasons: [...extraction.reasons, reason] };
}

/** One transaction: the decision, what was read, and the reminder. */
async function persist(
  job: Job<unknown>,
  doorbell: Doorbell,
  documentId: string,
  decision: Extraction,
): Promise<Account> {
  return await job.transaction(async (tx) => {
    const db = onTransaction(tx);
    if (!(await recordDecision(db, job.tenant, documentId, decision))) {
      throw new PermanentError("document_unknown", `account ${job.tenant} has no document ${documentId}`);
    }
    await saveExtracted(db, job.tenant, documentId, decision);
    if (decision.outcome === "accepted" && decision.invoice !== null) {
      await scheduleReminder(doorbell, tx, job.tenant, documentId, decision.invoice);
    }
    return await requireAccount(db, job.tenant);
  });
}
