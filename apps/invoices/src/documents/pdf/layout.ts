// From the loose pieces of text that a PDF page draws to lines and cells as a reader sees them. A gap wider than words
// keep starts a new cell; that is how columns are told apart. Order of drawing means nothing here, only position.
import { storableText } from "../clean-text.ts";

/** A piece of text with the lower left corner of its box; the unit is the point, y grows upwards. */
export interface TextPiece {
  readonly text: string;
  readonly left: number;
  readonly baseline: number;
  readonly width: number;
  readonly height: number;
}

/** A run of words without a column gap. `left` and `right` are in points. */
export interface Cell {
  readonly text: string;
  readonly left: number;
  readonly right: number;
}

/** One printed line. `page` and `line` count from 1. */
export interface Line {
  readonly page: number;
  readonly line: number;
  readonly cells: readonly Cell[];
}

/** Two pieces share a line when their baselines differ by less than this share of their height. */
const sameLineShare = 0.5;
/** Shares of the letter height: a blank between words is about 0.3, in justified text up to 0.6. */
const wordGapShare = 0.12;
const columnGapShare = 0.8;

/** Lays out one page, top to bottom and left to right. */
export function layOutPage(page: number, pieces: readonly TextPiece[]): readonly Line[] {
  const visible = pieces.filter((piece) => piece.text.trim() !== "").sort((a, b) => b.baseline - a.baseline);
  const rows: TextPiece[][] = [];
  for (const piece of visible) {
    const row = rows.at(-1);
    const top = row?.[0];
    if (
      row !== undefined &&
      top !== undefined &&
      top.baseline - piece.baseline < sameLineShare * Math.min(top.height, piece.height)
    ) {
      row.push(piece);
    } else {
      rows.push([piece]);
    }
  }
  return rows.map((row, index) => ({ page, line: index + 1, cells: cellsOf(row) }));
}

/** The line as one string, cells apart from each other. */
export function lineText(line: Line): string {
  return line.cells.map((cell) => cell.text).join("   ");
}

function cellsOf(row: TextPiece[]): readonly Cell[] {
  const cells: { text: string; left: number; right: number }[] = [];
  for (const piece of row.sort((a, b) => a.left - b.left)) {
    const text = storableText(piece.text).replace(/\s/gu, " ");
    const cell = cells.at(-1);
    const gap = cell === undefined ? Number.POSITIVE_INFINITY : piece.left - cell.right;
    if (cell === undefined || gap > columnGapShare * piece.height) {
      cells.push({ text, left: piece.left, right: piece.left + piece.width });
    } else {
      cell.text += (gap > wordGapShare * piece.height ? " " : "") + text;
      cell.right = Math.max(cell.right, piece.left + piece.width);
    }
  }
  return cells.map((cell) => ({ ...cell, text: cell.text.trim() })).filter((cell) => cell.text !== "");
}
