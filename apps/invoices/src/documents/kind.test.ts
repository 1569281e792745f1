import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sniffKind } from "./kind.ts";

const text = (value: string) => new TextEncoder().encode(value);

describe("sniffKind", () => {
  test.each([
    ["nothing", "", "empty"],
    ["a PDF", "%PDF-1.7\n%âãÏÓ\n", "pdf"],
    ["a PDF behind junk", `${" ".repeat(500)}%PDF-1.4`, "pdf"],
    ["an XML declaration", '<?xml version="1.0"?><Invoice/>', "xml"],
    ["XML without a declaration", "<rsm:CrossIndustryInvoice xmlns:rsm='x'>", "xml"],
    ["XML behind a byte order mark", "\ufeff<Invoice>", "xml"],
    ["XML behind a long comment", `<!-- ${"licence ".repeat(600)}-->`, "xml"],
    ["a DOCTYPE that is not of HTML", "<!DOCTYPE lolz []><Invoice/>", "xml"],
    ["a login page", "<!doctype html><html><body>Sign in", "html"],
    ["HTML behind a comment", "<!-- x --> <html>", "html"],
    ["an e-mail", "Received: from a\r\n\tby b\r\nFrom: a@b.example\r\nSubject: x\r\n\r\nhi", "email"],
    ["prose with a colon", "Dear all: hello\nRegards: me\n", "unknown"],
    ["numbers", "1;2;3\n4;5;6\n", "unknown"],
    ["a ZIP", "PK\u0003\u0004\u0014\u0000\u0000\u0000\u0008\u0000", "zip"],
  ])("tells %s", async (_, content, kind) => {
    expect(await sniffKind(text(content))).toBe(kind);
  });

  test("tells images and UTF-16 by their first bytes", async () => {
    expect(await sniffKind(Uint8Array.of(0xff, 0xd8, 0xff, 0xe0, 0, 16, 0x4a, 0x46, 0x49, 0x46, 0, 1))).toBe("image");
    expect(await sniffKind(new Uint8Array(Buffer.from("\ufeff<Invoice/>", "utf16le")))).toBe("xml");
  });

  test("does not know gzip", async () => {
    expect(await sniffKind(gzipSync("x"))).toBe("unknown");
  });

  test("answers for any bytes", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        expect(typeof (await sniffKind(bytes))).toBe("string");
      }),
    );
  });
});
