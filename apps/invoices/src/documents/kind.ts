// What a file is, by its bytes alone: names and declared media types lie. Nothing is decoded or inflated here, and only
// the head of the file is looked at.
import { fileTypeFromBuffer } from "file-type";

export type DocumentKind = "pdf" | "xml" | "email" | "image" | "zip" | "html" | "unknown" | "empty";

const headBytes = 4096;
/** Readers of PDF accept junk in front of the header, within the first kilobyte. */
const pdfHeaderWithinBytes = 1024;

const utf16LeMark = [0xff, 0xfe];
const utf16BeMark = [0xfe, 0xff];

const htmlStart = /^\s*(?:<!--[\s\S]*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b/i;
const xmlStart = /^\s*(?:<\?xml\b|<!--|<!DOCTYPE\b|<[A-Za-z_][\w.-]*(?::[\w.-]+)?(?=[\s>/]))/;
/** Two header lines of which one is known: prose with a colon in its first line is not a mail. */
const mailHeaders = [
  "from|to|cc|subject|date|received|return-path|delivered-to|message-id|mime-version|content-type",
  "x-[\\w-]+|dkim-signature|authentication-results",
];
const mailHeader = new RegExp(`^(?:${mailHeaders.join("|")}):`, "im");
const headerBlock = /^(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*){2}/;

/** Tells the kind of a document. Total: whatever the bytes, it answers and does not throw. */
export async function sniffKind(bytes: Uint8Array): Promise<DocumentKind> {
  if (bytes.byteLength === 0) return "empty";
  const head = bytes.subarray(0, headBytes);
  if (indexOfAscii(head.subarray(0, pdfHeaderWithinBytes), "%PDF-") >= 0) return "pdf";

  const mime = await binaryMime(head);
  if (mime.startsWith("image/") && mime !== "image/svg+xml") return "image";
  if (mime === "application/zip" || mime.includes("openxmlformats") || mime.includes("opendocument")) return "zip";

  const text = headText(head);
  if (htmlStart.test(text)) return "html";
  if (xmlStart.test(text)) return "xml";
  const lines = text.replace(/\r\n?/g, "\n").replace(/^\n+/, "");
  if (headerBlock.test(lines) && mailHeader.test(lines)) return "email";
  return "unknown";
}

async function binaryMime(head: Uint8Array): Promise<string> {
  try {
    return (await fileTypeFromBuffer(head))?.mime ?? "";
  } catch {
    // A head that ends in the middle of a container is no error of ours: the kind is simply not known this way.
    return "";
  }
}

function headText(head: Uint8Array): string {
  if (startsWith(head, utf16LeMark)) return new TextDecoder("utf-16le").decode(head);
  if (startsWith(head, utf16BeMark)) return new TextDecoder("utf-16be").decode(head);
  return new TextDecoder("utf-8").decode(head);
}

function startsWith(bytes: Uint8Array, prefix: readonly number[]): boolean {
  return prefix.every((byte, index) => bytes[index] === byte);
}

function indexOfAscii(bytes: Uint8Array, needle: string): number {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).indexOf(needle, 0, "latin1");
}
