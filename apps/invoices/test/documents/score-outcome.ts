// Reads the outcomes that a manifest allows, which are written in prose ("permanent: pdf_corrupt, or needs_review"),
// and says whether a result is one of them. Prose that names no outcome known here holds for nothing: a score must not
// rise by being misunderstood.
import { type RejectionCode, rejectionCodes } from "../../src/documents/rejection.ts";
import type { DocumentResult } from "./score.ts";

type Test = (result: DocumentResult) => boolean;

/** However it ends, it ends by then. */
const hostileMaxMs = 60_000;

/** The refusals that come from a bound rather than from a fault of format. */
const resourceCodes: ReadonlySet<string> = new Set<RejectionCode>([
  "limit_time",
  "limit_memory",
  "limit_output",
  "input_too_large",
  "image_too_large",
  "too_many_pages",
  "xml_too_complex",
  "email_too_complex",
]);

/** What is wrong with how a document ended; nothing if the manifest allows it. */
export function outcomeProblems(prose: string, result: DocumentResult): readonly string[] {
  const codes = result.reasons.map((reason) => reason.code).join(", ");
  const problems: string[] = [];
  if (!allowedBy(prose).some((test) => test(result))) {
    problems.push(`should end as "${prose}", ended as ${result.outcome} (${codes})`);
  }
  if (result.outcome !== "accepted" && result.reasons.length === 0) problems.push("it ended without a reason");
  if (JSON.stringify(result).includes("\\u0000")) problems.push("it kept a NUL character");
  if ((result.elapsedMs ?? 0) > hostileMaxMs) problems.push(`it took ${result.elapsedMs} ms`);
  return problems;
}

/** Every alternative that the prose names. */
function allowedBy(prose: string): readonly Test[] {
  const tests: Test[] = [];
  for (const code of rejectionCodes) {
    if (prose.includes(code)) tests.push((result) => isRejected(result) && hasReason(result, code));
  }
  if (/\bpermanent or\b/.test(prose)) tests.push(isRejected);
  if (/resource_limit|\btimeout\b/.test(prose)) {
    tests.push((result) => isRejected(result) && result.reasons.some((reason) => resourceCodes.has(reason.code)));
  }
  const review = /needs_review(?::\s*([\w-]+))?/.exec(prose);
  if (review !== null) tests.push((result) => result.outcome === "needs_review" && hasReason(result, review[1] ?? ""));
  const kind = /treat as (image|xml)/i.exec(prose)?.[1]?.toLowerCase();
  if (kind !== undefined) tests.push((result) => result.kind === kind && !isRejected(result));
  if (/\bor NUL removed/.test(prose)) tests.push((result) => !isRejected(result));
  const fields = /XML fields \(([^,)]+),\s*([\d.]+)\)/.exec(prose);
  if (fields !== null) {
    tests.push(({ invoice }) => invoice?.number === fields[1] && invoice?.total === fields[2]);
  }
  if (/fall back to the text layer/.test(prose)) tests.push((result) => result.method === "text");
  return tests;
}

function isRejected(result: DocumentResult): boolean {
  return result.outcome === "rejected";
}

/** The manifest shortens some codes ("no_text", "unsupported"); the empty prefix fits any reason. */
function hasReason(result: DocumentResult, prefix: string): boolean {
  return result.reasons.some((reason) => reason.code.startsWith(prefix));
}
