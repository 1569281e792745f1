// Finds the printed label of each value: the words before it on its line, and the column header above it. Works for
// anything that a finder can spot in a string, and knows neither languages nor fields.
import { isCurrencyCode } from "../currency-code.ts";
import type { Cell, Line } from "../pdf/layout.ts";

/** A value in a string, from `start` up to `end`. */
export interface Found<Value> {
  readonly value: Value;
  readonly start: number;
  readonly end: number;
}

/** Values in order, without overlap. */
export type Finder<Value> = (text: string) => readonly Found<Value>[];

export interface Labelled<Value> {
  readonly value: Value;
  readonly line: Line;
  /** The words before the value on its line, null if there are none. */
  readonly before: string | null;
  /** The header of the value's column, null if there is none within reach. */
  readonly above: string | null;
  /** Position within the run of values that share a label before them; a row may state a base and then the amount. */
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

/** How many lines up a column header may stand. */
const headerReachLines = 3;

/** Every value of the document with its label. */
export function labelValues<Value>(lines: readonly Line[], find: Finder<Value>): readonly Labelled<Value>[] {
  const searched = lines.map((line) => line.cells.map((cell) => ({ ...cell, values: find(cell.text) })));
  return lines.flatMap((line, index) => labelLine(line, index, lines, searched));
}

interface SearchedCell<Value> extends Cell {
  readonly values: readonly Found<Value>[];
}

type SearchedLines<Value> = readonly (readonly SearchedCell<Value>[])[];

/**
 * Whether a string can label something: identifiers, which carry digits, and currency codes beside an amount cannot.
 */
export function hasWords(text: string): boolean {
  return text.split(/\s+/u).some((token) => {
    const letters = token.replace(/\P{L}/gu, "");
    return letters.length >= 2 && !/\d/u.test(token) && !isCurrencyCode(letters);
  });
}

function labelLine<Value>(
  line: Line,
  lineIndex: number,
  lines: readonly Line[],
  searched: SearchedLines<Value>,
): readonly Labelled<Value>[] {
  const runs: { label: string | null; values: { found: Found<Value>; cell: Cell }[] }[] = [{ label: null, values: [] }];
  for (const cell of searched[lineIndex] ?? []) {
    let end = 0;
    for (const found of cell.values) {
      const between = cell.text.slice(end, found.start);
      if (hasWords(between)) runs.push({ label: between, values: [] });
      runs.at(-1)?.values.push({ found, cell });
      end = found.end;
    }
    const rest = cell.text.slice(end);
    if (hasWords(rest)) runs.push({ label: rest, values: [] });
  }
  return runs.flatMap(({ label, values }) =>
    values.map(({ found, cell }, index) => ({
      value: found.value,
      line,
      before: label,
      above: headerAbove(lineIndex, extentOf(found, cell), lines, searched),
      isFirst: index === 0,
      isLast: index === values.length - 1,
    })),
  );
}

interface Extent {
  readonly left: number;
  readonly right: number;
}

/** Where the value stands on the page, as if all letters of its cell were equally wide. */
function extentOf(found: Found<unknown>, cell: Cell): Extent {
  const perLetter = (cell.right - cell.left) / cell.text.length;
  return { left: cell.left + found.start * perLetter, right: cell.left + found.end * perLetter };
}

/** The nearest cell above that shares the column and holds words; other values of the same column are passed over. */
function headerAbove<Value>(
  lineIndex: number,
  extent: Extent,
  lines: readonly Line[],
  searched: SearchedLines<Value>,
): string | null {
  const page = lines[lineIndex]?.page;
  for (let up = 1; up <= headerReachLines; up++) {
    if (lines[lineIndex - up]?.page !== page) return null;
    const cell = searched[lineIndex - up]?.find(({ left, right }) => left < extent.right && right > extent.left);
    if (cell !== undefined && cell.values.length === 0 && hasWords(cell.text)) return cell.text;
  }
  return null;
}
