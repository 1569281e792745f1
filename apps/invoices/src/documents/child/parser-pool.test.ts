import { afterEach, describe, expect, test, vi } from "vitest";
import { makeBill } from "../../../samples/bill.ts";
import { ublXml } from "../../../samples/ubl-xml.ts";
import { pdfWithContent, spinningPdf } from "../../../test/documents/pdf-with-content.ts";
import { resolveLimits } from "../limits.ts";
import { ParserChild } from "./parser-child.ts";
import { ParserPool, type ParserPoolOptions } from "./parser-pool.ts";

const goodDocument = ublXml(makeBill("acme", 1));
const brokenDocument = new TextEncoder().encode("%PDF-1.4");
const endlessDocument = pdfWithContent(`BT /F1 12 Tf ${"1 0 0 1 50 700 Tm (Hello world) Tj ".repeat(400_000)} ET`);
const limits = resolveLimits();
let pool = new ParserPool();

function newPool(options: Partial<ParserPoolOptions>): ParserPool {
  pool = new ParserPool(options);
  return pool;
}

afterEach(() => {
  pool.close();
  vi.restoreAllMocks();
});

describe("ParserPool", () => {
  test("uses a child again, also when it has refused a document, and even left one in the middle", async () => {
    const start = vi.spyOn(ParserChild, "start");
    const { read } = bound(newPool({}));
    const refused = [brokenDocument, endlessDocument];
    for (const document of refused) expect(await read(document)).toMatchObject({ extraction: { outcome: "rejected" } });
    expect(await read(goodDocument)).toMatchObject({ extraction: { outcome: "accepted" } });
    expect(start).toHaveBeenCalledTimes(1);
  });

  test("does not use a child again that still holds much memory, so that the next document is not blamed for it", async () => {
    const start = vi.spyOn(ParserChild, "start");
    const tight = newPool({});
    // Not even an idle child fits into half of that.
    for (let index = 0; index < 2; index++) await tight.read(goodDocument, { ...limits, rssMegabytes: 200 });
    expect(start).toHaveBeenCalledTimes(2);
  });

  test("gives each child a bounded share", async () => {
    const start = vi.spyOn(ParserChild, "start");
    const { read } = bound(newPool({ documentsPerChildMax: 2 }));
    for (let index = 0; index < 3; index++) await read(goodDocument);
    expect(start).toHaveBeenCalledTimes(2);
  });

  test("reads no more at a time than it may, and everything in the end", async () => {
    const start = vi.spyOn(ParserChild, "start");
    const { read } = bound(newPool({ childrenMax: 1 }));
    const answers = await Promise.all([read(goodDocument), read(goodDocument), read(goodDocument)]);
    expect(answers.map((answer) => answer.type)).toEqual(Array(3).fill("extraction"));
    expect(start).toHaveBeenCalledTimes(1);
  });

  test("does not count waiting as reading, and lets a waiting document be aborted", async () => {
    const single = newPool({ childrenMax: 1 });
    const impatient = new AbortController();
    const busy = single.read(spinningPdf(), { ...limits, timeMs: 1500 });
    const patient = single.read(goodDocument, { ...limits, timeMs: 1400 });
    const waiting = single.read(goodDocument, limits, impatient.signal);
    impatient.abort(new Error("never mind"));
    await expect(waiting).rejects.toThrow("never mind");
    await expect(busy).resolves.toEqual({ type: "limit", code: "limit_time" });
    await expect(patient).resolves.toMatchObject({ type: "extraction" });
  });

  test("starts afresh when an idle child was killed behind its back", async () => {
    const start = vi.spyOn(ParserChild, "start");
    const { read } = bound(newPool({}));
    await read(goodDocument);
    const child = await (start.mock.results[0]?.value as Promise<ParserChild>);
    process.kill(child.pid ?? 0, "SIGKILL");
    await vi.waitFor(() => expect(child.isAlive).toBe(false));
    await expect(read(goodDocument)).resolves.toMatchObject({ type: "extraction" });
  });

  test("ends its children when they have been idle for long, and when it closes", async () => {
    const start = vi.spyOn(ParserChild, "start");
    const { read } = bound(newPool({ idleMs: 50 }));
    await read(goodDocument);
    const child = await (start.mock.results[0]?.value as Promise<ParserChild>);
    await vi.waitFor(() => expect(child.isAlive).toBe(false));

    await bound(newPool({})).read(goodDocument);
    const second = await (start.mock.results[1]?.value as Promise<ParserChild>);
    pool.close();
    expect(second.isAlive).toBe(false);
  });
});

function bound(of: ParserPool) {
  return { read: (document: Uint8Array) => of.read(document, limits) };
}
