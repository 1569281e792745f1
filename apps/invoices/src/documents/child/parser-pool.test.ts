import { afterEach, describe, expect, it, vi } from "vitest";
import { makeBill } from "../../../samples/bill.ts";
import { ublXml } from "../../../samples/ubl-xml.ts";
import { spinningPdf } from "../../../test/documents/pdf-with-content.ts";
import { resolveLimits } from "../limits.ts";
import { ParserChild } from "./parser-child.ts";
import { ParserPool, type ParserPoolOptions } from "./parser-pool.ts";

const GOOD = ublXml(makeBill("acme", 1));
const BAD = new TextEncoder().encode("%PDF-1.4");
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
  it("uses a child again while its documents are read well", async () => {
    const start = vi.spyOn(ParserChild, "start");
    const { read } = bound(newPool({}));
    for (let index = 0; index < 3; index++) await read(GOOD);
    expect(start).toHaveBeenCalledTimes(1);
  });

  it("does not use a child again that has refused a document", async () => {
    const start = vi.spyOn(ParserChild, "start");
    const { read } = bound(newPool({}));
    await read(BAD);
    await read(GOOD);
    expect(start).toHaveBeenCalledTimes(2);
  });

  it("gives each child a bounded share", async () => {
    const start = vi.spyOn(ParserChild, "start");
    const { read } = bound(newPool({ documentsPerChildMax: 2 }));
    for (let index = 0; index < 3; index++) await read(GOOD);
    expect(start).toHaveBeenCalledTimes(2);
  });

  it("reads no more at a time than it may, and everything in the end", async () => {
    const start = vi.spyOn(ParserChild, "start");
    const { read } = bound(newPool({ childrenMax: 1 }));
    const answers = await Promise.all([read(GOOD), read(GOOD), read(GOOD)]);
    expect(answers.map((answer) => answer.type)).toEqual(Array(3).fill("extraction"));
    expect(start).toHaveBeenCalledTimes(1);
  });

  it("does not count waiting as reading, and lets a waiting document be aborted", async () => {
    const single = newPool({ childrenMax: 1 });
    const impatient = new AbortController();
    const busy = single.read(spinningPdf(), { ...limits, timeMs: 1500 });
    const patient = single.read(GOOD, { ...limits, timeMs: 1400 });
    const waiting = single.read(GOOD, limits, impatient.signal);
    impatient.abort(new Error("never mind"));
    await expect(waiting).rejects.toThrow("never mind");
    await expect(busy).resolves.toEqual({ type: "limit", code: "limit_time" });
    await expect(patient).resolves.toMatchObject({ type: "extraction" });
  });

  it("starts afresh when an idle child was killed behind its back", async () => {
    const start = vi.spyOn(ParserChild, "start");
    const { read } = bound(newPool({}));
    await read(GOOD);
    const child = await (start.mock.results[0]?.value as Promise<ParserChild>);
    process.kill(child.pid ?? 0, "SIGKILL");
    await vi.waitFor(() => expect(child.isAlive).toBe(false));
    await expect(read(GOOD)).resolves.toMatchObject({ type: "extraction" });
  });

  it("ends its children when they have been idle for long, and when it closes", async () => {
    const start = vi.spyOn(ParserChild, "start");
    const { read } = bound(newPool({ idleMs: 50 }));
    await read(GOOD);
    const child = await (start.mock.results[0]?.value as Promise<ParserChild>);
    await vi.waitFor(() => expect(child.isAlive).toBe(false));

    await bound(newPool({})).read(GOOD);
    const second = await (start.mock.results[1]?.value as Promise<ParserChild>);
    pool.close();
    expect(second.isAlive).toBe(false);
  });
});

function bound(of: ParserPool) {
  return { read: (document: Uint8Array) => of.read(document, limits) };
}
