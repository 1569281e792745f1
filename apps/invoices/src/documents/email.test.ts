import { describe, expect, test } from "vitest";
import { readEmail } from "./email.ts";
import { defaultLimits } from "./limits.ts";

const read = (text: string, encoding: BufferEncoding = "utf8") =>
  readEmail(new Uint8Array(Buffer.from(text.replace(/\n/g, "\r\n"), encoding)), defaultLimits);

const mailHead = "From: a@b.example\nSubject: x\nMIME-Version: 1.0\n";

function mail(...parts: string[]): string {
  return `${mailHead}Content-Type: multipart/mixed; boundary="b1"\n\n${parts.map((part) => `--b1\n${part}\n`).join("")}--b1--\n`;
}

async function timed(promise: Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await promise;
  return performance.now() - startedAt;
}

describe("readEmail", () => {
  test("gives the attachments with the names and bytes that they have", async () => {
    const attachments = await read(
      mail(
        "Content-Type: text/plain\n\nhello",
        'Content-Type: application/octet-stream\nContent-Disposition: attachment; filename="a.xml"\n\n<Invoice/>',
      ),
    );
    expect(attachments.map(({ name, bytes }) => [name, Buffer.from(bytes).toString().trim()])).toEqual([
      ["a.xml", "<Invoice/>"],
    ]);
  });

  test("joins continued and encoded file names", async () => {
    const [attachment] = await read(
      mail(
        "Content-Type: application/pdf\nContent-Disposition: attachment;\n filename*0*=utf-8''fact%C3%BC;\n filename*1*=re.pdf\n\nx",
      ),
    );
    expect(attachment?.name).toBe("factüre.pdf");
  });

  test.each(["_iso-2022-jp$ESC", "UTF-16LE", "no-such-charset", "utf-7"])(
    "does not stumble over the charset %s, and keeps the file name",
    async (charset) => {
      const [attachment] = await read(
        mail(
          `Content-Type: text/xml; charset=${charset}; name="invoice.xml"\nContent-Disposition: attachment; filename="invoice.xml"\n\n<Invoice/>`,
        ),
      );
      expect(attachment?.name).toBe("invoice.xml");
    },
  );

  test("survives raw eight-bit headers", async () => {
    await expect(
      read(mail("Content-Type: text/plain\n\nä").replace("Subject: x", "Subject: \xe4\xff"), "latin1"),
    ).resolves.toEqual([]);
  });

  describe("refuses at once", () => {
    const tooComplex = { code: "email_too_complex" };

    test("half a million empty parts", async () => {
      const bomb = `${mailHead}Content-Type: multipart/mixed; boundary=b\n\n${"--b\n".repeat(500_000)}--b--\n`;
      expect(await timed(expect(read(bomb)).rejects.toMatchObject(tooComplex))).toBeLessThan(1000);
    });

    test("parts nested five thousand deep", async () => {
      const nested = Array.from(
        { length: 5000 },
        (_, depth) => `Content-Type: multipart/mixed; boundary=b${depth}\n\n--b${depth}\n`,
      );
      expect(await timed(expect(read(mailHead + nested.join(""))).rejects.toMatchObject(tooComplex))).toBeLessThan(
        1000,
      );
    });

    test("nesting within the number of parts, but too deep", async () => {
      const nested = Array.from(
        { length: 12 },
        (_, depth) => `Content-Type: multipart/mixed; boundary=b${depth}\n\n--b${depth}\n`,
      );
      await expect(read(mailHead + nested.join(""))).rejects.toMatchObject(tooComplex);
    });

    test("five megabytes of headers", async () => {
      const headers = `X-Filler: ${"y".repeat(990)}\n`.repeat(5000);
      expect(await timed(expect(read(`${mailHead}${headers}\nbody`)).rejects.toMatchObject(tooComplex))).toBeLessThan(
        1000,
      );
    });
  });
});
