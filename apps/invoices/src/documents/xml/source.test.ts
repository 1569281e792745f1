import { describe, expect, test } from "vitest";
import { readXmlSource } from "./source.ts";

const limits = { xmlDepth: 10, xmlElements: 100 };
const read = (text: string, encoding: BufferEncoding = "utf8") => readXmlSource(Buffer.from(text, encoding), limits);

describe("readXmlSource", () => {
  test("decodes what is declared or marked", () => {
    expect(read("<a>ü</a>")).toEqual({ text: "<a>ü</a>", encodingCertain: true });
    expect(read('<?xml version="1.0" encoding="ISO-8859-1"?><a>ü</a>', "latin1").text).toContain("<a>ü</a>");
    expect(read("\ufeff<a>ü</a>", "utf16le")).toEqual({ text: "<a>ü</a>", encodingCertain: true });
  });

  test.each([
    ["unknown", '<?xml version="1.0" encoding="UTF-8-W/O-BOM"?><a/>'],
    ["false", '<?xml version="1.0" encoding="UTF-16"?><a/>'],
  ])("reads on but notes an encoding that is %s", (_, text) => {
    expect(read(text)).toEqual({ text, encodingCertain: false });
  });

  test("notes bytes that are not of the declared encoding", () => {
    expect(readXmlSource(Uint8Array.of(0x3c, 0x61, 0x3e, 0xff), limits).encodingCertain).toBe(false);
  });

  test.each([
    ["a DOCTYPE", "<!DOCTYPE a><a/>"],
    ["a DOCTYPE in lower case", "<!doctype a><a/>"],
    ["an entity", '<a/><!ENTITY x "y">'],
  ])("refuses %s", (_, text) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ code: "xml_doctype_refused" }));
  });

  test("refuses a DOCTYPE that hides in UTF-16", () => {
    expect(() => read("\ufeff<!DOCTYPE a><a/>", "utf16le")).toThrow(
      expect.objectContaining({ code: "xml_doctype_refused" }),
    );
  });

  test("refuses a NUL", () => {
    expect(() => read("<a>\0</a>")).toThrow(expect.objectContaining({ code: "xml_not_wellformed" }));
  });

  test("bounds depth and number of elements, and counts no comments, no CDATA and no empty elements as depth", () => {
    const tooComplex = expect.objectContaining({ code: "xml_too_complex" });
    expect(() => read("<a>".repeat(11))).toThrow(tooComplex);
    expect(() => read("<a/>".repeat(101))).toThrow(tooComplex);
    read(`${"<a>".repeat(10)}${"</a>".repeat(10)}`);
    read(`<r>${"<a/>".repeat(50)}<!-- ${"<a>".repeat(200)} --><![CDATA[${"<a>".repeat(200)}]]></r>`);
  });

  test("is done at once with a file of unfinished comments", () => {
    const startedAt = performance.now();
    read("<!--".repeat(500_000));
    expect(performance.now() - startedAt).toBeLessThan(2000);
  });
});
