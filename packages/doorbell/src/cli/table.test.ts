import { expect, test } from "vitest";
import { type Column, printable, renderTable } from "./table.ts";

interface Row {
  readonly id: string;
  readonly text: string | null;
}

const columns: readonly Column<Row>[] = [
  { title: "id", value: (row) => row.id, whole: true },
  { title: "text", value: (row) => row.text },
];

test("columns are aligned, nothing is cut where there is no terminal, and what is missing is a dash", () => {
  const rows = [
    { id: "1", text: "x".repeat(200) },
    { id: "long-id", text: null },
  ];
  expect(renderTable(rows, columns, null)).toBe(`ID       TEXT\n1        ${"x".repeat(200)}\nlong-id  -\n`);
});

test("in a terminal a line fits, and ids stay whole", () => {
  const id = "01a22ffe-559a-7368-a7f2-d80e2da27449";
  const lines = renderTable([{ id, text: "y".repeat(200) }], columns, 60).split("\n");
  expect(lines[1]).toHaveLength(60);
  expect(lines[1]).toMatch(new RegExp(`^${id}  y+…$`));
});

test("a terminal that is too narrow for the ids breaks the lines itself, rather than losing them", () => {
  const id = "01a22ffe-559a-7368-a7f2-d80e2da27449";
  expect(renderTable([{ id, text: "yyyyyyyyyyyy" }], columns, 20)).toContain(`${id}  yyyyyyy…`);
});

test("without rows there are the titles", () => {
  expect(renderTable([], columns, 80)).toBe("ID  TEXT\n");
});

test("what a user wrote is one line, and the terminal obeys nothing in it", () => {
  const rows = [{ id: "1", text: "\u{1b}[2Jboo\r\nhoo\u{202e}\u{7}" }];
  expect(renderTable(rows, columns, null)).toBe("ID  TEXT\n1   \u{fffd}[2Jboo hoo\u{fffd}\u{fffd}\n");
  expect(printable("a\u{9b}31mb")).toBe("a\u{fffd}31mb");
});
