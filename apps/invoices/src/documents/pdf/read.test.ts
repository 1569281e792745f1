import { describe, expect, it } from "vitest";
import { pdfWithContent } from "../../../test/documents/pdf-with-content.ts";
import { DEFAULT_LIMITS } from "../limits.ts";
import { lineText } from "./layout.ts";
import { readPdf } from "./read.ts";

const TEXT = "BT /F1 12 Tf 50 700 Td (Hello) Tj ET";
const WATERMARK = "BT /F1 40 Tf 0 1 -1 0 300 300 Tm (COPY) Tj ET";

describe("readPdf", () => {
  it("gives the lines of each page, numbered, and leaves turned text out", async () => {
    const { lines, readWhole } = await readPdf(pdfWithContent(`${TEXT} ${WATERMARK}`, 2), DEFAULT_LIMITS);
    expect(lines.map((line) => [line.page, line.line, lineText(line)])).toEqual([
      [1, 1, "Hello"],
      [2, 1, "Hello"],
    ]);
    expect(readWhole).toBe(true);
  });

  it("reads the first pages only, and says so", async () => {
    const { lines, readWhole } = await readPdf(pdfWithContent(TEXT, 5), { ...DEFAULT_LIMITS, pagesRead: 2 });
    expect(lines).toHaveLength(2);
    expect(readWhole).toBe(false);
  });

  it("refuses more pages than it may have", async () => {
    await expect(readPdf(pdfWithContent(TEXT, 5), { ...DEFAULT_LIMITS, pagesMax: 4 })).rejects.toMatchObject({
      code: "too_many_pages",
    });
  });

  it("leaves a page that does not stop talking, long before its end", async () => {
    const endless = pdfWithContent(`BT /F1 12 Tf ${"1 0 0 1 50 700 Tm (Hello world) Tj ".repeat(400_000)} ET`);
    await expect(readPdf(endless, { ...DEFAULT_LIMITS, textChars: 10_000 })).rejects.toMatchObject({
      code: "limit_output",
    });
  });

  it("counts the characters of all pages together", async () => {
    await expect(readPdf(pdfWithContent(TEXT, 3), { ...DEFAULT_LIMITS, textChars: 14 })).rejects.toMatchObject({
      code: "limit_output",
    });
    await expect(readPdf(pdfWithContent(TEXT, 3), { ...DEFAULT_LIMITS, textChars: 15 })).resolves.toBeDefined();
  });

  it("calls corrupt what is corrupt", async () => {
    const truncated = pdfWithContent(TEXT).subarray(0, 60);
    await expect(readPdf(truncated, DEFAULT_LIMITS)).rejects.toMatchObject({ code: "pdf_corrupt" });
  });

  it("leaves the bytes that it was given as they are", async () => {
    const bytes = pdfWithContent(TEXT);
    const before = bytes.slice();
    await readPdf(bytes, DEFAULT_LIMITS);
    expect(bytes).toEqual(before);
  });
});
