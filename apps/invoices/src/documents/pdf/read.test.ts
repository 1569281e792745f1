import { describe, expect, test } from "vitest";
import { newPdf, savePdf } from "../../../samples/text-pdf.ts";
import { pdfWithContent } from "../../../test/documents/pdf-with-content.ts";
import { defaultLimits } from "../limits.ts";
import { lineText } from "./layout.ts";
import { readPdf } from "./read.ts";

const hello = "BT /F1 12 Tf 50 700 Td (Hello) Tj ET";
const watermark = "BT /F1 40 Tf 0 1 -1 0 300 300 Tm (COPY) Tj ET";

describe("readPdf", () => {
  test("gives the lines of each page, numbered, and leaves turned text out", async () => {
    const { lines, readWhole } = await readPdf(pdfWithContent(`${hello} ${watermark}`, 2), defaultLimits);
    expect(lines.map((line) => [line.page, line.line, lineText(line)])).toEqual([
      [1, 1, "Hello"],
      [2, 1, "Hello"],
    ]);
    expect(readWhole).toBe(true);
  });

  test("reads the first pages only, and says so", async () => {
    const { lines, readWhole } = await readPdf(pdfWithContent(hello, 5), { ...defaultLimits, pagesRead: 2 });
    expect(lines).toHaveLength(2);
    expect(readWhole).toBe(false);
  });

  test("refuses more pages than it may have", async () => {
    await expect(readPdf(pdfWithContent(hello, 5), { ...defaultLimits, pagesMax: 4 })).rejects.toMatchObject({
      code: "too_many_pages",
    });
  });

  test("leaves a page that does not stop talking, long before its end", async () => {
    const endless = pdfWithContent(`BT /F1 12 Tf ${"1 0 0 1 50 700 Tm (Hello world) Tj ".repeat(400_000)} ET`);
    await expect(readPdf(endless, { ...defaultLimits, textChars: 10_000 })).rejects.toMatchObject({
      code: "limit_output",
    });
  });

  test("counts the characters of all pages together", async () => {
    await expect(readPdf(pdfWithContent(hello, 3), { ...defaultLimits, textChars: 14 })).rejects.toMatchObject({
      code: "limit_output",
    });
    await expect(readPdf(pdfWithContent(hello, 3), { ...defaultLimits, textChars: 15 })).resolves.toBeDefined();
  });

  test("calls corrupt what is corrupt", async () => {
    const truncated = pdfWithContent(hello).subarray(0, 60);
    await expect(readPdf(truncated, defaultLimits)).rejects.toMatchObject({ code: "pdf_corrupt" });
  });

  test("gives attachments names that can be stored", async () => {
    const document = await newPdf();
    document.addPage();
    await document.attach(new TextEncoder().encode("<Invoice/>"), "in\u0000voice\u202e.xml");
    const { attachments } = await readPdf(await savePdf(document), defaultLimits);
    expect(attachments.map(({ name }) => name)).toEqual(["invoice.xml"]);
  });

  test("leaves the bytes that it was given as they are", async () => {
    const bytes = pdfWithContent(hello);
    const before = bytes.slice();
    await readPdf(bytes, defaultLimits);
    expect(bytes).toEqual(before);
  });
});
