// Scores results against a manifest of right answers: how many documents of each kind were read right, whether anything
// was accepted wrongly, and whether every hostile file ended as it may. It judges results only; it reads no document
// and no file.
import { amountsAgree, parseDecimal } from "../../src/documents/amount.ts";
import type { ExtractionMethod, Reason } from "../../src/documents/extraction.ts";
import { outcomeProblems } from "./score-outcome.ts";

/**
 * The right answers for one file. Fields that are absent are unknown; fields that are null are truly not in the
 * document.
 */
export interface ManifestEntry {
  /** The path below the manifest's folder, which is also the name of the result. */
  readonly file: string;
  /** "facturx-pdf", "xml-cii", "xml-ubl", "pdf-text", "pdf-scan", "image-receipt", "eml", "hostile", … */
  readonly kind: string;
  readonly expected: {
    readonly number?: string | null;
    readonly date?: string | null;
    readonly currency?: string | null;
    readonly total?: number | null;
    readonly net?: number | null;
    readonly vat?: number | null;
    readonly due?: number | null;
    /** In prose, for documents whose end matters rather than their fields. */
    readonly outcome?: string;
  };
  /** What the page of a hybrid shows where that is not what its XML says: such a document must not be accepted. */
  readonly pageShows?: object;
}

/** The fields that are scored, as they were stored. Amounts are decimal strings. */
interface ScoredInvoice {
  readonly number: string | null;
  readonly date: string | null;
  readonly currency: string | null;
  readonly total: string | null;
  readonly net: string | null;
  readonly vat: string | null;
  readonly due: string | null;
}

/** How one document ended; `Extraction` fits, and so does what was stored of it. */
export interface DocumentResult {
  readonly file: string;
  readonly outcome: "accepted" | "needs_review" | "rejected";
  readonly reasons: readonly Reason[];
  readonly kind: string;
  readonly method: ExtractionMethod;
  readonly invoice: ScoredInvoice | null;
  /** From start to end; a hostile file that took longer than a minute is not held. */
  readonly elapsedMs?: number;
}

type ScoreGroup = "xml" | "text" | "scan" | "email" | "hostile" | "other";

interface ScoreDetail {
  readonly file: string;
  readonly group: ScoreGroup;
  readonly right: boolean;
  readonly wronglyAccepted: boolean;
  /** What was expected and what came instead; empty if and only if right. */
  readonly problems: readonly string[];
}

export interface Score {
  readonly xmlRight: number;
  readonly xmlTotal: number;
  readonly textRight: number;
  readonly textTotal: number;
  readonly scanRight: number;
  readonly scanTotal: number;
  readonly wronglyAccepted: number;
  readonly hostileHeld: number;
  readonly hostileTotal: number;
  readonly details: readonly ScoreDetail[];
}

type ScoredField = keyof ScoredInvoice;

const allFields: readonly ScoredField[] = ["number", "date", "currency", "total", "net", "vat", "due"];
const xmlFields: readonly ScoredField[] = ["number", "date", "currency", "total", "net", "vat"];
const textFields: readonly ScoredField[] = ["number", "date", "currency", "total"];

/** Scores every entry of the manifest; an entry without a result counts as wrong. */
export function scoreDocuments(manifest: readonly ManifestEntry[], results: readonly DocumentResult[]): Score {
  const resultByFile = new Map(results.map((result) => [result.file, result]));
  const details = manifest.map((entry) => scoreEntry(entry, resultByFile.get(entry.file)));
  const inGroup = (group: ScoreGroup) => details.filter((detail) => detail.group === group);
  const rightIn = (group: ScoreGroup) => inGroup(group).filter((detail) => detail.right).length;
  return {
    xmlRight: rightIn("xml"),
    xmlTotal: inGroup("xml").length,
    textRight: rightIn("text"),
    textTotal: inGroup("text").length,
    scanRight: rightIn("scan"),
    scanTotal: inGroup("scan").length,
    wronglyAccepted: details.filter((detail) => detail.wronglyAccepted).length,
    hostileHeld: rightIn("hostile"),
    hostileTotal: inGroup("hostile").length,
    details,
  };
}

function scoreEntry(entry: ManifestEntry, result: DocumentResult | undefined): ScoreDetail {
  const group = groupOf(entry.kind);
  if (result === undefined) {
    return { file: entry.file, group, right: false, wronglyAccepted: false, problems: ["it has no result"] };
  }
  const { outcome } = entry.expected;
  const fields = group === "xml" || group === "email" ? xmlFields : textFields;
  const problems = outcome === undefined ? fieldProblems(entry, result, fields) : outcomeProblems(outcome, result);
  return {
    file: entry.file,
    group,
    right: problems.length === 0,
    wronglyAccepted: isWronglyAccepted(entry, result),
    problems,
  };
}

function groupOf(kind: string): ScoreGroup {
  if (kind === "facturx-pdf" || kind === "xml-cii" || kind === "xml-ubl") return "xml";
  if (kind === "pdf-text") return "text";
  if (kind === "pdf-scan" || kind.startsWith("image-")) return "scan";
  if (kind === "eml") return "email";
  return kind === "hostile" ? "hostile" : "other";
}

function isWronglyAccepted(entry: ManifestEntry, result: DocumentResult): boolean {
  if (result.outcome !== "accepted") return false;
  return entry.pageShows !== undefined || fieldProblems(entry, result, allFields).length > 0;
}

function fieldProblems(
  { expected }: ManifestEntry,
  { invoice }: DocumentResult,
  fields: readonly ScoredField[],
): readonly string[] {
  return fields.flatMap((field) => {
    const wanted = expected[field];
    const found = invoice?.[field] ?? null;
    if (wanted === undefined || isSame(wanted, found)) return [];
    return [`${field} should be ${wanted}, is ${found}`];
  });
}

/** The manifest writes amounts as JSON numbers, in cents at most. */
function isSame(wanted: string | number | null, found: string | null): boolean {
  if (wanted === null || found === null) return wanted === found;
  if (typeof wanted === "string") return wanted === found;
  const amount = parseDecimal(found);
  return amount !== null && amountsAgree(amount, wanted.toFixed(2));
}
