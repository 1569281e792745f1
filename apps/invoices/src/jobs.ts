// The kinds of jobs there are: what the side that enqueues and the side that handles have in common. Imports no handler.
import { defineJob, exponential } from "doorbell-jobs";
import { z } from "zod";

const documentPayload = z.object({ documentId: z.uuid() });

/** Reads an uploaded document and says what became of it. Its object is the document. */
export const extractInvoice = defineJob({
  kind: "invoice.extract",
  payload: documentPayload,
  retry: { maxAttempts: 5, backoff: exponential({ base: "2s", max: "10m", jitter: 0.2 }) },
  // The reader's own limit is half a minute, and is an answer; but a document may have to wait for its turn behind others
  // that take as long.
  timeout: "5m",
});

/** Reminds an account of an invoice that is soon due. Scheduled when the invoice is accepted; has no object. */
export const remindInvoice = defineJob({ kind: "invoice.remind", payload: documentPayload });
