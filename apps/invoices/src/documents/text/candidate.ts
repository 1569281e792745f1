// One value that may be a field, how good the evidence for it is, and the choice among several. Evidence is ranked, not
// scored: a better kind of evidence always wins, and two different values of the best kind are a rivalry that a person
// has to settle.
import type { Confidence, Provenance } from "../invoice.ts";
import { type Line, lineText } from "../pdf/layout.ts";

/**
 * The kinds of evidence, best first: a label that means this field and nothing else; a label that usually means it; a
 * place where it often stands.
 */
export type Evidence = "label" | "hint" | "place";

const ranks: Record<Evidence, number> = { label: 3, hint: 2, place: 1 };
const confidences: Record<Evidence, Confidence> = { label: "high", hint: "medium", place: "low" };
const quoteMaxChars = 160;

export interface Candidate<Value> {
  readonly value: Value;
  readonly evidence: Evidence;
  readonly line: Line;
}

export interface Choice<Value> extends Candidate<Value> {
  /** Other values with evidence just as good. */
  readonly rivals: readonly Value[];
}

/** The first candidate of the best evidence there is, with its rivals; null for none. */
export function choose<Value extends string>(candidates: readonly Candidate<Value>[]): Choice<Value> | null {
  const bestRank = candidates.reduce((rank, candidate) => Math.max(rank, ranks[candidate.evidence]), 0);
  const best = candidates.filter((candidate) => ranks[candidate.evidence] === bestRank);
  const [first] = best;
  if (first === undefined) return null;
  const rivals = new Set(best.map((candidate) => candidate.value).filter((value) => value !== first.value));
  return { ...first, rivals: [...rivals] };
}

/** Where a choice was read; a value with rivals is never of high confidence. */
export function provenanceOf(choice: Choice<string>): Provenance {
  const confidence = confidences[choice.evidence];
  return {
    from: "text",
    page: choice.line.page,
    line: choice.line.line,
    quote: lineText(choice.line).slice(0, quoteMaxChars),
    confidence: choice.rivals.length > 0 && confidence === "high" ? "medium" : confidence,
  };
}
