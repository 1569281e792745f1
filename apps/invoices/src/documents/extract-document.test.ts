import { afterAll, describe, expect, test } from "vitest";
import { makeBill } from "../../samples/bill.ts";
import { hybridPdf } from "../../samples/hybrid-pdf.ts";
import { ublXml } from "../../samples/ubl-xml.ts";
import { pdfWithContent, spinningPdf } from "../../test/documents/pdf-with-content.ts";
import { closeParserChildren, extractDocument } from "./extract-document.ts";
import type { Limits } from "./limits.ts";

afterAll(closeParserChildren);

const bill = makeBill("globex", 3);
const encode = (text: string) => new TextEncoder().encode(text);

async function endOf(bytes: Uint8Array, limits: Partial<Limits> = {}): Promise<readonly string[]> {
  const { outcome, kind, reasons } = await extractDocument(bytes, { limits });
  return [outcome, kind, ...reasons.map((reason) => reason.code)];
}

describe("extractDocument", () => {
  test("reads a good document", async () => {
    const extraction = await extractDocument(await hybridPdf(bill));
    expect(extraction).toMatchObject({ outcome: "accepted", kind: "pdf", invoice: { number: bill.number } });
  });

  test("reads good documents while hostile ones spin until their limit", async () => {
    const spinning = spinningPdf();
    const hostile = Array.from({ length: 3 }, () => endOf(spinning, { timeMs: 1000 }));
    const good = Array.from({ length: 6 }, () => endOf(ublXml(bill)));
    expect(await Promise.all(hostile)).toEqual(Array(3).fill(["rejected", "pdf", "limit_time"]));
    expect(await Promise.all(good)).toEqual(Array(6).fill(["accepted", "xml"]));
  });

  test("rejects a document over the heap, and one over the memory that the heap does not see", async () => {
    const manyElements = encode(`<Invoice>${'<a b="c"><d>e</d></a>'.repeat(99_000)}</Invoice>`);
    expect(await endOf(manyElements, { heapMegabytes: 48 })).toEqual(["rejected", "xml", "limit_memory"]);
    const inflating = pdfWithContent(new Uint8Array(300_000_000).fill(0x20));
    expect(await endOf(inflating)).toEqual(["rejected", "pdf", "limit_memory"]);
  });

  test("rejects what is too large to take in, and too large to give out", async () => {
    expect(await endOf(encode("<Invoice/>"), { inputBytes: 9 })).toEqual(["rejected", "xml", "input_too_large"]);
    expect(await endOf(ublXml(bill), { outputBytes: 500 })).toEqual(["rejected", "xml", "limit_output"]);
  });

  test("throws the reason of an abort, before and during", async () => {
    const reason = new Error("lease lost");
    await expect(extractDocument(ublXml(bill), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const controller = new AbortController();
    const extraction = extractDocument(spinningPdf(), { signal: controller.signal });
    setImmediate(() => controller.abort(reason));
    await expect(extraction).rejects.toBe(reason);
  });
});
