// What became of the uploads: gathered from HTTP and the ledger, put together per document.

import type { DocumentView } from "../../apps/invoices/src/store/views.ts";
import type { DocumentResult, Score } from "../../apps/invoices/test/documents/score.ts";
import type { DemoAccount } from "./accounts.ts";
import type { Upload } from "./client.ts";
import type { DemoFile } from "./files.ts";
import type { DeadLetter, JobState } from "./ledger.ts";
import type { Proof } from "./proof.ts";

export interface DemoDocument {
  readonly account: DemoAccount;
  /** What was uploaded of it: more than one when two files are the same bytes. */
  readonly files: readonly DemoFile[];
  readonly shown: DocumentView;
  /** Null when the ledger does not know it. */
  readonly job: JobState | null;
  /** Set when its job has ended among the dead letters. */
  readonly deadLetter: DeadLetter | null;
}

export type Refusal = Extract<Upload, { readonly refused: object }>;

export interface Outcome {
  readonly uploads: number;
  /** Fewer than uploads, where two files are the same bytes in one account, or one was refused. */
  readonly documents: readonly DemoDocument[];
  readonly refused: readonly Refusal[];
  /** Samples that did not end as they must, each with what came instead. */
  readonly unexpected: readonly string[];
  readonly proof: Proof;
  readonly workersKilled: number;
  /** Others than the one that was to be killed. */
  readonly processesDied: readonly string[];
  readonly doorbellsDropped: number;
  readonly score: Score | null;
}

export const isDecided = ({ shown }: DemoDocument): boolean => shown.state !== "received";
export const isAccepted = ({ shown }: DemoDocument): boolean => shown.state === "accepted";
export const needsReview = ({ shown }: DemoDocument): boolean => shown.state === "needs_review";
export const isDeadLetter = ({ deadLetter }: DemoDocument): boolean => deadLetter !== null;
/** Its job has not come to an end. */
export const isLost = ({ job }: DemoDocument): boolean => job === null || !finalStates.has(job.state);

const finalStates = new Set(["done", "failed", "cancelled", "discarded"]);

/** A result for each upload, by the name of its file; what was refused at the door counts as rejected. */
export function resultsOf(documents: readonly DemoDocument[], refused: readonly Refusal[]): readonly DocumentResult[] {
  const read = documents.flatMap(({ files, shown }) =>
    files.flatMap(({ name: file }): readonly DocumentResult[] => {
      const { state, reasons, kind, method, invoice, receivedAt, decidedAt } = shown;
      if (state === "received" || decidedAt === null) return [];
      const elapsedMs = Date.parse(decidedAt) - Date.parse(receivedAt);
      return [{ file, outcome: state, reasons, kind: kind ?? "unknown", method: method ?? "none", invoice, elapsedMs }];
    }),
  );
  const atTheDoor = refused.map(
    ({ file, refused: { code, detail } }): DocumentResult => ({
      file: file.name,
      outcome: "rejected",
      reasons: [{ code, message: detail }],
      kind: "unknown",
      method: "none",
      invoice: null,
    }),
  );
  return [...read, ...atTheDoor];
}

/** What is not as it must be; nothing if all is well. */
export function failures(outcome: Outcome): readonly string[] {
  const { documents, unexpected, proof, workersKilled, processesDied, doorbellsDropped, score } = outcome;
  const lost = documents.filter(isLost).map(({ job, shown }) => job?.id ?? `of document ${shown.id}`);
  const accepted = documents.filter(isAccepted).length;
  const checks: readonly (readonly [boolean, string])[] = [
    [lost.length === 0, `${lost.length} jobs have not come to an end: ${lost.join(", ")}`],
    [proof.effectsDelivered === proof.effectsRequested, "the receiver counts other webhooks than the ledger"],
    [proof.effectsDeliveredTwice === 0, `${proof.effectsDeliveredTwice} webhooks were processed twice`],
    [proof.mailsDelivered === proof.mailsRequested, "the mail server counts other mails than the ledger"],
    [proof.redeliveriesInDoubt <= proof.effectsBegunOverDoubt, "something was sent again that was not in doubt"],
    [proof.documentsCounted === accepted, `usage counts ${proof.documentsCounted} documents; ${accepted} are accepted`],
    [workersKilled === 1, "no worker was killed"],
    [processesDied.length === 0, `died without being killed: ${processesDied.join(", ")}`],
    [doorbellsDropped > 0, "no doorbell was dropped, although each was rung twice"],
    [unexpected.length === 0, `did not end as they must: ${unexpected.join("; ")}`],
    [score === null || score.wronglyAccepted === 0, `${score?.wronglyAccepted} documents were accepted wrongly`],
    [score === null || score.hostileHeld === score.hostileTotal, "hostile files were not held"],
  ];
  return checks.filter(([holds]) => !holds).map(([, problem]) => problem);
}

/** The one line for programs. */
export function summary(outcome: Outcome): object {
  const { uploads, documents, refused, proof, workersKilled, processesDied, doorbellsDropped, score } = outcome;
  const { details: _, ...figures } = score ?? { details: [] };
  return {
    uploads,
    documents: documents.length,
    done: documents.filter(isAccepted).length,
    needsReview: documents.filter(needsReview).length,
    deadLetters: documents.filter(isDeadLetter).length,
    refusedAtTheDoor: refused.length,
    ...proof,
    workersKilled,
    processesDied: processesDied.length,
    doorbellsDropped,
    jobsLost: documents.filter(isLost).length,
    ...(score === null ? {} : { score: figures }),
  };
}
