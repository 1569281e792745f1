// Finds the invoice's own number by its label, in English, German, Dutch and French. Numbers of orders, customers and
// VAT have labels of their own and are not taken for it.
import type { Cell, Line } from "../pdf/layout.ts";
import { findAmounts } from "./amounts.ts";
import type { Candidate, Evidence } from "./candidate.ts";
import { findDays } from "./dates.ts";

const documentWord = `(?:${[
  "(?:tax\\s)?invoice|credit\\s?(?:note|memo)|bill|receipt",
  "[a-zäöü]{0,12}rechnung|gutschrift|beleg",
  "factuur|credit\\s?nota",
  "facture|avoir",
].join("|")})`;
const numeralWord = "(?:number|num[ée]ro|nummer|no|nr|n°|nº|№|id|#)";
/** "(380)", "(Selbst ausgestellte Rechnung)" between the name of the document and its number. */
const inBrackets = String.raw`(?:\([\w\s]{3,40}\)\s*){0,2}`;
const numberPart = String.raw`([\p{L}\d][\p{L}\d_./\\-]*)`;
const wordStart = String.raw`(?<![\p{L}\d-])`;

interface Rule {
  readonly evidence: Evidence;
  readonly pattern: RegExp;
}

/** Label and number within one line. */
const inlineRules: readonly Rule[] = [
  // "Invoice Number: 42", "Rechnungs-Nr. 42", "Factuurnummer: 42", "Facture n° 42", "Receipt # No.: 42"
  rule("label", `${wordStart}${documentWord}s?[\\s.-]*${inBrackets}(?:${numeralWord}[\\s.:]*){1,2}${numberPart}`),
  // "N° de facture : 42", "Numéro de facture 42", "No. of invoice: 42"
  rule(
    "label",
    `${wordStart}${numeralWord}\\.?\\s*(?:de\\s|of\\s|der\\s|van\\s)(?:la\\s|de\\s|the\\s)?${documentWord}\\s*:?\\s*${numberPart}`,
  ),
  // "INVOICE: 42"
  rule("label", `${wordStart}${documentWord}\\s*:\\s*${numberPart}`),
  // "Facture FA-2017-0010" as a heading of its own
  rule("label", `^${documentWord}\\s+${numberPart}$`),
  // "Avoir AV-7 …" somewhere in a sentence
  rule("hint", `${wordStart}${documentWord}\\s+${numberPart}`),
  // "# 42" below a heading
  rule("place", `^#\\s*${numberPart}$`),
];

const headerPattern = new RegExp(`^${documentWord}s?[\\s.-]*(?:${numeralWord}[\\s.:]*){0,2}$`, "iu");
const oneNumber = new RegExp(`^${numberPart}$`, "iu");
const headerReachLines = 2;

/** Every string that may be the number of the invoice. */
export function numberCandidates(lines: readonly Line[]): readonly Candidate<string>[] {
  return lines.flatMap((line, index) => [...inlineNumbers(line), ...numbersBelow(lines, index)]);
}

function inlineNumbers(line: Line): readonly Candidate<string>[] {
  const whole = line.cells.map((cell) => cell.text).join(" ");
  const texts = line.cells.length > 1 ? [whole, ...line.cells.map((cell) => cell.text)] : [whole];
  for (const { evidence, pattern } of inlineRules) {
    for (const text of texts) {
      const value = invoiceNumber(pattern.exec(text)?.[1]);
      if (value !== null) return [{ value, evidence, line }];
    }
  }
  return [];
}

/**
 * A column headed "Factuur" or "Invoice No", and what stands under it. A heading alone on its line is weaker: it may be
 * a title.
 */
function numbersBelow(lines: readonly Line[], index: number): readonly Candidate<string>[] {
  const headerLine = lines[index];
  const header = headerLine?.cells.find((cell) => headerPattern.test(cell.text));
  if (headerLine === undefined || header === undefined) return [];
  for (const line of lines.slice(index + 1, index + 1 + headerReachLines)) {
    const below = line.page === headerLine.page ? line.cells.find((cell) => overlap(cell, header)) : undefined;
    const value = invoiceNumber(oneNumber.exec(below?.text ?? "")?.[1]);
    if (value !== null) return [{ value, evidence: headerLine.cells.length > 1 ? "label" : "hint", line }];
  }
  return [];
}

/** A number has a digit, and is neither a day nor an amount nor the year. */
function invoiceNumber(text: string | undefined): string | null {
  const value = text?.replace(/[./\\-]+$/u, "") ?? "";
  if (!/\d/u.test(value) || /^(?:19|20)\d{2}$/u.test(value)) return null;
  if (findDays(value).length > 0 || findAmounts(value).length > 0) return null;
  return value;
}

function overlap(a: Cell, b: Cell): boolean {
  return a.left < b.right && a.right > b.left;
}

function rule(evidence: Evidence, pattern: string): Rule {
  return { evidence, pattern: new RegExp(pattern, "iu") };
}
