// Rows as a table for people: aligned, with white space between columns, and cut to the width of the terminal if there is
// one. Whatever comes from users is made harmless: a cell is one line, and cannot move the cursor.

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string | number | null | undefined;
  /** Never cut: an id that is cut is of no use. */
  readonly whole?: boolean;
}

const gap = "  ";
const cutMin = 8;

/** `width` in characters; null: as wide as it is. Ends with a line feed; the titles alone where there are no rows. */
export function renderTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[], width: number | null): string {
  const cells = rows.map((row) => columns.map((column) => printable(String(column.value(row) ?? "-"))));
  const titles = columns.map((column) => column.title.toUpperCase());
  const widths = columns.map((_, index) => Math.max(...[titles, ...cells].map((line) => lengthOf(line[index] ?? ""))));
  if (width !== null) fit(widths, columns, width);
  return [titles, ...cells].map((line) => `${renderLine(line, widths)}\n`).join("");
}

/** One line, without what a terminal would obey or what would turn the direction of the text. */
export function printable(text: string): string {
  return text.replace(/\s+/g, " ").replace(/[\p{Control}\u{202a}-\u{202e}\u{2066}-\u{2069}]/gu, "\u{fffd}");
}

/** Takes from the widest column that may be cut, until all fit or none can give more. */
function fit(widths: number[], columns: readonly Column<never>[], width: number): void {
  const excess = (): number => widths.reduce((sum, one) => sum + one, gap.length * (widths.length - 1)) - width;
  while (excess() > 0) {
    let widest = -1;
    widths.forEach((one, index) => {
      const mayGive = columns[index]?.whole !== true && one > cutMin;
      if (mayGive && (widest === -1 || one > (widths[widest] ?? 0))) widest = index;
    });
    if (widest === -1) return;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
}

function renderLine(line: readonly string[], widths: readonly number[]): string {
  return line
    .map((cell, index) => cutTo(cell, widths[index] ?? 0))
    .join(gap)
    .trimEnd();
}

function cutTo(cell: string, width: number): string {
  const characters = [...cell];
  if (characters.length > width) return `${characters.slice(0, width - 1).join("")}…`;
  return cell + " ".repeat(width - characters.length);
}

function lengthOf(cell: string): number {
  return [...cell].length;
}
