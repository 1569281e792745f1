// Lines of a page for tests, drawn with typewriter letters: a run of two blanks or more starts a new cell, and columns
// are where they look to be.
import type { Cell, Line } from "../../src/documents/pdf/layout.ts";

/** Lays out a text drawing; `page` numbers all its lines. */
export function printedLines(drawing: string, page = 1): readonly Line[] {
  return drawing
    .split("\n")
    .filter((text) => text.trim() !== "")
    .map((text, index) => ({ page, line: index + 1, cells: cellsOf(text) }));
}

function cellsOf(text: string): readonly Cell[] {
  return [...text.matchAll(/\S+(?: \S+)*/g)].map(({ index, 0: cell }) => ({
    text: cell,
    left: index,
    right: index + cell.length,
  }));
}
