import { describe, expect, test } from "vitest";
import { layOutPage, lineText, type TextPiece } from "./layout.ts";

const piece = (text: string, left: number, baseline: number, height = 10): TextPiece => ({
  text,
  left,
  baseline,
  width: text.length * 5,
  height,
});

describe("layOutPage", () => {
  test("reads top to bottom and left to right, whatever the order of drawing", () => {
    const lines = layOutPage(3, [piece("total", 10, 100), piece("12.50", 200, 101), piece("Invoice", 10, 700)]);
    expect(lines.map(lineText)).toEqual(["Invoice", "total   12.50"]);
    expect(lines.map(({ page, line }) => [page, line])).toEqual([
      [3, 1],
      [3, 2],
    ]);
  });

  test("joins letters, words and columns by the gaps between them", () => {
    const [line] = layOutPage(1, [piece("In", 0, 0), piece("voice", 10, 0), piece("date", 38, 0), piece("Due", 90, 0)]);
    expect(line?.cells).toEqual([
      { text: "Invoice date", left: 0, right: 58 },
      { text: "Due", left: 90, right: 105 },
    ]);
  });

  test("takes a wide blank that is drawn for the gap that it is", () => {
    const blank = { ...piece(" ", 25, 0), width: 150 };
    const [line] = layOutPage(1, [piece("Total", 0, 0), blank, piece("12.50", 175, 0)]);
    expect(line?.cells.map((cell) => cell.text)).toEqual(["Total", "12.50"]);
  });

  test("keeps two lines apart that nearly touch", () => {
    expect(layOutPage(1, [piece("a", 0, 100), piece("b", 0, 94)]).map(lineText)).toEqual(["a", "b"]);
  });

  test("removes what cannot be stored", () => {
    expect(layOutPage(1, [piece("a\u0000b", 0, 0)]).map(lineText)).toEqual(["ab"]);
  });

  test("has no lines for a page without text", () => {
    expect(layOutPage(1, [])).toEqual([]);
  });
});
