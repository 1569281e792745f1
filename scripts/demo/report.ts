// The end of the demo, for a person: per account what was read, what needs review, what is in the dead letters and why,
// and the proof.
import type { Score } from "../../apps/invoices/test/documents/score.ts";
import { type DemoDocument, isAccepted, isDeadLetter, isLost, needsReview, type Outcome } from "./outcome.ts";

type Row = readonly string[];

export function report(outcome: Outcome): string {
  const { documents, refused, score } = outcome;
  const parts: readonly (readonly [string, readonly Row[]])[] = [
    ["Per account", accountRows(documents)],
    ["Accepted", documents.filter(isAccepted).map(acceptedRow)],
    ["Needs review", documents.filter(needsReview).flatMap(reviewRows)],
    ["Dead letters", documents.filter(isDeadLetter).map(deadLetterRow)],
    ["Refused at the door", refused.map(({ file, refused: { detail } }) => [file.account.id, file.name, detail])],
    ["Score", score === null ? [] : scoreRows(score)],
    ["Proof", proofRows(outcome)],
  ];
  return parts
    .filter(([, rows]) => rows.length > 0)
    .map(([title, rows]) => `${title}\n${aligned(rows)}`)
    .join("\n\n");
}

function accountRows(documents: readonly DemoDocument[]): readonly Row[] {
  const accounts = [...new Set(documents.map(({ account }) => account.id))].sort();
  const counts = accounts.map((id) => {
    const own = documents.filter(({ account }) => account.id === id);
    return [own.length, own.filter(isAccepted).length, own.filter(needsReview).length, own.filter(isDeadLetter).length];
  });
  return [
    ["", "documents", "accepted", "needs review", "dead letters"],
    ...accounts.map((id, index) => [id, ...(counts[index] ?? []).map(String)]),
  ];
}

function acceptedRow({ account, files, shown: { invoice, method } }: DemoDocument): Row {
  const { number, seller, date, total, currency } = invoice ?? {};
  const amount = `${total ?? "?"} ${currency ?? "?"}`;
  return [
    account.id,
    shortened(number ?? "?"),
    shortened(seller ?? "?"),
    date ?? "?",
    amount,
    method ?? "",
    nameOf(files),
  ];
}

function reviewRows({ account, files, shown }: DemoDocument): readonly Row[] {
  return shown.reasons.map(({ code, message }, index) =>
    index === 0 ? [account.id, nameOf(files), code, message] : ["", "", code, message],
  );
}

/** The document says why; a job that failed for another reason says so itself. */
function deadLetterRow({ account, files, shown, deadLetter }: DemoDocument): Row {
  const [reason] = shown.state === "rejected" ? shown.reasons : [];
  const error = (deadLetter?.error ?? "").split("\n", 1)[0] ?? "";
  return [account.id, nameOf(files), reason?.code ?? deadLetter?.code ?? "", reason?.message ?? error];
}

function scoreRows(score: Score): readonly Row[] {
  const wrong = score.details.filter(({ right, wronglyAccepted }) => !right || wronglyAccepted);
  return [
    ["XML and hybrid", `${score.xmlRight} of ${score.xmlTotal} right`],
    ["text", `${score.textRight} of ${score.textTotal} right`],
    ["scans", `${score.scanRight} of ${score.scanTotal} right`],
    ["accepted wrongly", String(score.wronglyAccepted)],
    ["hostile", `${score.hostileHeld} of ${score.hostileTotal} held`],
    ...wrong.map(({ file, problems }): Row => [`not right: ${file}`, problems.join("; ")]),
  ];
}

function proofRows({ documents, proof, workersKilled, doorbellsDropped }: Outcome): readonly Row[] {
  const lost = documents.filter(isLost).length;
  return [
    [
      "webhooks",
      `${proof.effectsRequested} asked for in the ledger`,
      `${proof.effectsDelivered} counted by the receiver`,
      `${proof.effectsDeliveredTwice} processed twice`,
    ],
    [
      "mails",
      `${proof.mailsRequested} asked for in the ledger`,
      `${proof.mailsDelivered} counted by the mail server`,
      "",
    ],
    [
      "in doubt",
      `${proof.effectsBegunOverDoubt} begun again by the ledger`,
      `${proof.redeliveriesInDoubt} came again, with the same id`,
      "",
    ],
    ["usage", `${proof.documentsCounted} documents counted`, "", ""],
    ["doorbells", `${doorbellsDropped} came to nothing`, "each is rung twice", ""],
    [
      "workers",
      `${workersKilled} killed with -9`,
      `${proof.attemptsLost} attempts lost their lease, and were made again`,
      "",
    ],
    ["jobs", `${documents.length - lost} of ${documents.length} came to an end`, `${lost} lost`, ""],
  ];
}

function nameOf(files: DemoDocument["files"]): string {
  return files.map(({ name }) => shortened(name)).join(" = ");
}

const cellMaxChars = 44;

function shortened(text: string): string {
  const characters = [...text];
  return characters.length <= cellMaxChars ? text : `${characters.slice(0, cellMaxChars - 1).join("")}…`;
}

/** Every column as wide as its widest cell, but for the last, which may be a sentence. */
function aligned(rows: readonly Row[]): string {
  const columns = Math.max(...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => [...(row[column] ?? "")].length)),
  );
  return rows
    .map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")}`.trimEnd())
    .join("\n");
}
