// The proof: what the ledger asked for against what the other side counted, and whether that is all as it must be.
import type { CaughtMail } from "../../apps/invoices/test/counterparts/mail-catcher.ts";
import type { Delivery } from "../../apps/invoices/test/counterparts/webhook-receiver.ts";
import type { LedgerCount } from "./ledger.ts";

/** Effects here are webhooks; mails are counted beside them. */
export interface Proof {
  readonly effectsRequested: number;
  /** Counted by the receiver: a document and an event is one. */
  readonly effectsDelivered: number;
  /** Of these, processed more than once: under another id, since a receiver drops an id that it has processed. */
  readonly effectsDeliveredTwice: number;
  readonly mailsRequested: number;
  readonly mailsDelivered: number;
  /** Requests and mails that came again with the same id: an outcome that a killed worker could not record. */
  readonly redeliveriesInDoubt: number;
  /** What the ledger says of the same: effects that were begun again over a doubt. */
  readonly effectsBegunOverDoubt: number;
  readonly documentsCounted: number;
  /** Attempts whose lease ran out: with the worker that was killed, or on a machine that stood still for so long. */
  readonly attemptsLost: number;
}

export function prove(
  counts: readonly LedgerCount[],
  deliveries: readonly Delivery[],
  mails: readonly CaughtMail[],
): Proof {
  const total = (name: keyof LedgerCount): number => counts.reduce((sum, count) => sum + count[name], 0);
  const processed = countBy(
    deliveries.filter(({ repeat }) => !repeat),
    ({ documentId, event }) => `${documentId} ${event}`,
  );
  const messages = countBy(mails, ({ messageId }) => messageId);
  const repeats = deliveries.filter(({ repeat }) => repeat).length + mails.length - messages.size;
  return {
    effectsRequested: total("webhooks"),
    effectsDelivered: processed.size,
    effectsDeliveredTwice: [...processed.values()].filter((times) => times > 1).length,
    mailsRequested: total("mails"),
    mailsDelivered: messages.size,
    redeliveriesInDoubt: repeats,
    effectsBegunOverDoubt: total("overDoubt"),
    documentsCounted: total("documentsCounted"),
    attemptsLost: total("attemptsLost"),
  };
}

function countBy<T>(items: readonly T[], keyOf: (item: T) => string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return counts;
}
