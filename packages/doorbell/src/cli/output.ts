// What commands print: answers to standard output, as a table or as one JSON document; everything else to standard error.
import { type Column, printable, renderTable } from "./table.ts";

export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** A remark beside the answer. */
export function note(text: string): void {
  process.stderr.write(`doorbell: ${printable(text)}\n`);
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, process.stdout.isTTY ? 2 : 0));
}

/** One JSON array, or a table that fits the terminal; `empty` is said where there is nothing. */
export function printList<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  options: { readonly json: boolean; readonly empty: string },
): void {
  if (options.json) printJson(rows);
  else if (rows.length === 0) note(options.empty);
  else printTable(rows, columns);
}

export function printTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): void {
  process.stdout.write(renderTable(rows, columns, process.stdout.isTTY ? process.stdout.columns : null));
}

/** Says how to read on, where a page is full. */
export function noteMore(page: readonly { readonly id: string }[], limit: number): void {
  const last = page.at(-1);
  if (last !== undefined && page.length === limit) note(`there may be more: --before ${last.id}`);
}

/** In UTC, to the second. */
export function instant(at: Date | null): string {
  return at === null ? "-" : `${at.toISOString().slice(0, 19)}Z`;
}

export function firstLine(text: string | null): string {
  return text === null ? "-" : (text.split("\n", 1)[0] ?? "");
}
