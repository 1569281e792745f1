// Opens a PDF and takes out what an invoice can be read from: the files attached to it and the text of its first pages.
// Pictures are not decoded and nothing is rendered or run. pdf.js works on the calling thread, so this belongs in the
// child process only.
import { getDocument, type PDFDocumentProxy } from "pdfjs-dist/legacy/build/pdf.mjs";
import { fieldText } from "../clean-text.ts";
import type { Limits } from "../limits.ts";
import { refuseOversizedPdfPictures } from "../picture-size.ts";
import { RejectedDocument } from "../rejection.ts";
import { type Line, layOutPage, type TextPiece } from "./layout.ts";

export interface PdfAttachment {
  readonly name: string;
  readonly bytes: Uint8Array;
}

export interface PdfContent {
  readonly attachments: readonly PdfAttachment[];
  readonly lines: readonly Line[];
  /** False when the document has more pages than were read. */
  readonly readWhole: boolean;
}

type PdfLimits = Pick<Limits, "pagesRead" | "pagesMax" | "textChars" | "pictureBytes">;

/** Reads a PDF. Throws `RejectedDocument`; whatever else pdf.js throws over a file, the file is at fault. */
export async function readPdf(bytes: Uint8Array, limits: PdfLimits): Promise<PdfContent> {
  refuseOversizedPdfPictures(bytes, limits.pictureBytes);
  const opening = getDocument({
    // pdf.js takes the buffer over, so it gets a copy.
    data: new Uint8Array(bytes),
    verbosity: 0,
    isEvalSupported: false,
    useSystemFonts: false,
    disableFontFace: true,
    enableXfa: false,
  });
  try {
    const document = await opening.promise;
    if (document.numPages > limits.pagesMax) {
      throw new RejectedDocument("too_many_pages", `${document.numPages}, at most ${limits.pagesMax}`);
    }
    return {
      attachments: await attachmentsOf(document),
      lines: await linesOf(document, limits),
      readWhole: document.numPages <= limits.pagesRead,
    };
  } catch (error) {
    throw rejectionOf(error);
  } finally {
    await opening.destroy().catch(() => {});
  }
}

async function attachmentsOf(document: PDFDocumentProxy): Promise<readonly PdfAttachment[]> {
  const attachments: unknown = await document.getAttachments();
  return Object.values(attachments ?? {})
    .filter(isAttachment)
    .map(({ filename, content }) => ({ name: fieldText(filename) ?? "unnamed", bytes: content }));
}

function isAttachment(value: unknown): value is { filename: string; content: Uint8Array } {
  const attachment = value as { filename?: unknown; content?: unknown } | null;
  return typeof attachment?.filename === "string" && attachment.content instanceof Uint8Array;
}

async function linesOf(document: PDFDocumentProxy, limits: PdfLimits): Promise<readonly Line[]> {
  const lines: Line[] = [];
  let charsLeft = limits.textChars;
  for (let number = 1; number <= Math.min(document.numPages, limits.pagesRead); number++) {
    const pieces = await piecesOf(document, number, charsLeft);
    for (const piece of pieces) charsLeft -= piece.text.length;
    lines.push(...layOutPage(number, pieces));
  }
  return lines;
}

/** Streams the page, so that a page that inflates without end is left as soon as it has said too much. */
async function piecesOf(document: PDFDocumentProxy, number: number, charsMax: number): Promise<readonly TextPiece[]> {
  const page = await document.getPage(number);
  const reader = page.streamTextContent().getReader();
  const pieces: TextPiece[] = [];
  let chars = 0;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return pieces;
    for (const item of value.items) {
      const piece = pieceOf(item);
      if (piece === null) continue;
      chars += piece.text.length;
      if (chars > charsMax) throw new RejectedDocument("limit_output", `over ${charsMax} characters by page ${number}`);
      pieces.push(piece);
    }
  }
}

interface PdfTextItem {
  readonly str: string;
  readonly transform: readonly number[];
  readonly width: number;
  readonly height: number;
}

const fallbackHeight = 8;

/** Null for marked content, and for text that does not run from left to right, such as watermarks across the page. */
function pieceOf(item: unknown): TextPiece | null {
  const { str, transform, width, height } = item as Partial<PdfTextItem>;
  if (str === undefined || str === "" || transform === undefined) return null;
  const [a = 0, b = 0, , d = 0, left = 0, baseline = 0] = transform;
  if (Math.abs(b) > Math.abs(a)) return null;
  return { text: str, left, baseline, width: width ?? 0, height: Math.abs(d) || height || fallbackHeight };
}

function rejectionOf(error: unknown): unknown {
  if (error instanceof RejectedDocument) return error;
  const { name, message } = error instanceof Error ? error : { name: "", message: String(error) };
  if (name === "PasswordException") return new RejectedDocument("pdf_encrypted");
  if (name === "RangeError") return new RejectedDocument("limit_memory", message);
  return new RejectedDocument("pdf_corrupt", message);
}
