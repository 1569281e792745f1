// PDFs that nobody can read: one cut off, one that shows no text, and one behind a password.
import { createHash } from "node:crypto";
import { rgb } from "pdf-lib";
import type { Bill } from "./bill.ts";
import { assemblePdf } from "./raw-pdf.ts";
import { newPdf, savePdf, textPdf } from "./text-pdf.ts";

/** A download that broke off: the beginning of a real invoice. */
export async function brokenPdf(bill: Bill): Promise<Uint8Array> {
  const whole = await textPdf(bill, "beside");
  return whole.slice(0, Math.floor(whole.length * 0.4));
}

/** What a scanner makes: a page with marks on it and no letter of text. `seed` moves the marks. */
export async function picturePdf(seed: number): Promise<Uint8Array> {
  const document = await newPdf();
  const page = document.addPage([595, 842]);
  for (let row = 0; row < 24; row++) {
    const width = 120 + ((seed * 37 + row * 61) % 340);
    page.drawRectangle({ x: 60, y: 760 - row * 26, width, height: 8, color: rgb(0.2, 0.2, 0.2) });
  }
  return savePdf(document);
}

/** The padding of the standard security handler (ISO 32000-1, 7.6.3.3). */
const passwordPadding = Buffer.from("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a", "hex");
const keyBytes = 5;
const allowEverything = -4;
const contentObject = 4;

/** Encrypted with 40-bit RC4 under a user password, the way of old office software; pdf-lib does not encrypt. */
export function encryptedPdf(bill: Bill, password: string): Uint8Array {
  const documentId = md5(Buffer.from(bill.number));
  const userPassword = Buffer.concat([Buffer.from(password, "latin1"), passwordPadding]).subarray(
    0,
    passwordPadding.length,
  );
  const ownerEntry = rc4(md5(userPassword).subarray(0, keyBytes), userPassword);
  const permissions = Buffer.alloc(4);
  permissions.writeInt32LE(allowEverything);
  const key = md5(Buffer.concat([userPassword, ownerEntry, permissions, documentId])).subarray(0, keyBytes);

  const contentKey = md5(Buffer.concat([key, Buffer.from([contentObject, 0, 0, 0, 0])])).subarray(0, keyBytes + 5);
  const content = rc4(contentKey, Buffer.from(`BT /F1 12 Tf 50 780 Td (Invoice ${bill.number}) Tj ET`, "latin1"));
  const userEntry = rc4(key, passwordPadding);
  const encryption = [
    "<< /Filter /Standard /V 1 /R 2",
    `/O <${ownerEntry.toString("hex")}> /U <${userEntry.toString("hex")}>`,
    `/P ${allowEverything} >>`,
  ].join(" ");
  return assemblePdf(
    [
      "<< /Type /Catalog /Pages 2 0 R >>",
      "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
      "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
      `<< /Length ${content.length} >>\nstream\n${content.toString("latin1")}\nendstream`,
      "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
      encryption,
    ],
    `/Root 1 0 R /Encrypt 6 0 R /ID [<${documentId.toString("hex")}> <${documentId.toString("hex")}>]`,
  );
}

function md5(bytes: Uint8Array): Buffer {
  return createHash("md5").update(bytes).digest();
}

/** RC4, which current OpenSSL no longer offers. */
function rc4(key: Uint8Array, bytes: Uint8Array): Buffer {
  const state = Uint8Array.from({ length: 256 }, (_, index) => index);
  const swap = (a: number, b: number) => {
    [state[a], state[b]] = [at(state, b), at(state, a)];
  };
  for (let i = 0, j = 0; i < 256; i++) {
    j = (j + at(state, i) + at(key, i % key.length)) & 255;
    swap(i, j);
  }
  let i = 0;
  let j = 0;
  return Buffer.from(bytes).map((byte) => {
    i = (i + 1) & 255;
    j = (j + at(state, i)) & 255;
    swap(i, j);
    return byte ^ at(state, (at(state, i) + at(state, j)) & 255);
  }) as Buffer;
}

function at(bytes: Uint8Array, index: number): number {
  return bytes[index] ?? 0;
}
