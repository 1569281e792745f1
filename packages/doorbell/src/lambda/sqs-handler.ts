// A function of AWS Lambda behind a queue of SQS: claims what the messages name and runs it, within the time that the
// function has. A message is done with when its claim is decided, whatever becomes of the job: the job is the record.
import { parseBody } from "../queue/body.ts";
import { asDoorbell } from "../queue/queue.ts";
import { type VisitOptions, visit } from "./visit.ts";

/** What Lambda hands over, as far as it is read. */
export interface SqsEvent {
  readonly Records: readonly { readonly messageId: string; readonly body: string }[];
}

export interface SqsBatchResponse {
  /** These come again; all others are deleted. */
  readonly batchItemFailures: { readonly itemIdentifier: string }[];
}

export interface LambdaContext {
  getRemainingTimeInMillis(): number;
}

export type SqsHandler = (event: SqsEvent, context?: LambdaContext) => Promise<SqsBatchResponse>;

/** Without a context, as where it is called by hand. */
const defaultRemainingMs = 60_000;
/** Before the function is stopped: to give back what runs, and to answer. */
const reserveMs = 3_000;

/**
 * The handler to export. Switch "report batch item failures" on. Concurrency is 10 unless it is said otherwise. The handler
 * rejects for options that no worker takes (option_invalid), and for nothing else.
 */
export function sqsHandler(options: VisitOptions): SqsHandler {
  return async ({ Records }, context) => {
    const remainingMs = context?.getRemainingTimeInMillis() ?? defaultRemainingMs;
    const forMs = Math.max(remainingMs - reserveMs, remainingMs / 2);
    const undecided = new Set<string>();
    await visit({ concurrency: 10, ...options }, forMs, async (guest, { log, metrics }) => {
      const bells = Records.flatMap(({ messageId, body }) => {
        const doorbell = asDoorbell(parseBody(body));
        return doorbell === null ? [] : [{ messageId, doorbell }];
      });
      const junk = Records.length - bells.length;
      if (junk > 0) {
        metrics.doorbellsDropped("junk", junk);
        log.warn("dropped messages that are no doorbells", { messages: junk });
      }
      for (const { messageId } of bells) undecided.add(messageId);
      while (bells.length > 0) {
        const free = await guest.freeSlots();
        if (free === 0) return;
        const batch = bells.splice(0, free);
        try {
          if (!(await guest.claim(batch.map(({ doorbell }) => doorbell)))) return;
        } catch (error) {
          log.warn("messages could not be claimed; they come again", { messages: undecided.size, error });
          return;
        }
        for (const { messageId } of batch) undecided.delete(messageId);
      }
    });
    return { batchItemFailures: [...undecided].map((itemIdentifier) => ({ itemIdentifier })) };
  };
}
