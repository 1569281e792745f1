// Which currency printed amounts are in. Only a sign or code beside a number, or behind a word for "currency", counts;
// a "$" alone is not enough to know which dollar is meant.
import { isCurrencyCode } from "../currency-code.ts";
import { type Line, lineText } from "../pdf/layout.ts";
import type { Candidate } from "./candidate.ts";

const codeOfSign: Readonly<Record<string, string>> = { "€": "EUR", "£": "GBP" };
const signByNumber = /[€£](?=\s?-?\s?\d)|(?<=\d\s?)[€£]/gu;
const codeByNumber = /(?<![\p{L}\d])([A-Z]{3})(?=\s{0,3}-?\d)|(?<=\d\s{0,3})([A-Z]{3})(?![\p{L}\d])/gu;
const codeByWord =
  /(?:currency|währung|devise|valuta|munt)\b[^A-Z]{0,20}(?:[A-Z]{4,12}\s\(?)?([A-Z]{3})(?![\p{L}\d])/giu;
/** Codes that are common words in capitals, and so mean nothing beside a number. */
const wordsInCapitals = new Set(["ALL", "CUP", "MOP", "TOP", "TRY"]);

const dollarAmount = /\$\s?-?\s?\d/u;
const saysUsDollar = /\bUSD\b|\bUS\s?\$|\bU\.?S\.? dollars?\b/iu;
/** A state and a five-digit ZIP code as in "Fremont CA 94538", or the country's own name. */
const saysUnitedStates = /\b[A-Z]{2},?\s\d{5}(?:-\d{4})?\b|\bUnited States\b|\bUSA\b/u;
const saysOtherDollar = new RegExp(
  [
    "\\b(?:CAD|AUD|NZD|SGD|HKD|MXN)\\b",
    "\\b(?:CA|AU|NZ|HK|C|A|S)\\$",
    "\\b(?:Canada|Australia|New Zealand|Singapore|Hong Kong|Mexico)\\b",
  ].join("|"),
  "u",
);

/** Every currency that the text speaks of, most often named first. */
export function currencyCandidates(lines: readonly Line[]): readonly Candidate<string>[] {
  const named = lines.flatMap((line) =>
    codesIn(lineText(line)).map((code): Candidate<string> => ({ value: code, evidence: "label", line })),
  );
  const all = [...named, ...dollarCandidates(lines)];
  const counts = new Map<string, number>();
  for (const { value } of all) counts.set(value, (counts.get(value) ?? 0) + 1);
  return all.sort((a, b) => (counts.get(b.value) ?? 0) - (counts.get(a.value) ?? 0));
}

function codesIn(text: string): readonly string[] {
  const bySign = [...text.matchAll(signByNumber)].map(([sign]) => codeOfSign[sign] ?? "");
  const byNumber = [...text.matchAll(codeByNumber)].map(([, before, after]) => before ?? after ?? "");
  const byWord = [...text.matchAll(codeByWord)].map(([, code = ""]) => code);
  return [...bySign, ...byNumber, ...byWord].filter((code) => isCurrencyCode(code) && !wordsInCapitals.has(code));
}

/** "$" reads as US dollars; as certain only where the document says so or is plainly of that country. */
function dollarCandidates(lines: readonly Line[]): readonly Candidate<string>[] {
  const priced = lines.filter((line) => dollarAmount.test(lineText(line)));
  const document = lines.map(lineText).join("\n");
  const saysDollar = saysUsDollar.test(document);
  const certain = saysDollar || (saysUnitedStates.test(document) && !saysOtherDollar.test(document));
  return priced.map((line) => ({ value: "USD", evidence: certain ? "label" : "hint", line }));
}
