// Takes an e-mail apart into its attachments. The number of parts is bounded before the parser runs, depth and headers
// by the parser itself. File names are what the sender says: shown, never used to decide anything. The body is not
// read.
import PostalMime from "postal-mime";
import { fieldText } from "./clean-text.ts";
import type { Limits } from "./limits.ts";
import { RejectedDocument } from "./rejection.ts";

export interface EmailAttachment {
  readonly name: string;
  readonly bytes: Uint8Array;
}

type EmailLimits = Pick<Limits, "emailParts" | "emailDepth" | "emailHeaderBytes">;

/** The attachments in order. Throws `RejectedDocument`. */
export async function readEmail(bytes: Uint8Array, limits: EmailLimits): Promise<readonly EmailAttachment[]> {
  refuseManyParts(bytes, limits.emailParts);
  try {
    const email = await PostalMime.parse(bytes, {
      maxNestingDepth: limits.emailDepth,
      maxRfc822NestingDepth: limits.emailDepth,
      maxHeadersSize: limits.emailHeaderBytes,
    });
    return email.attachments.map((attachment) => ({
      name: fieldText(attachment.filename ?? "") ?? "unnamed",
      bytes: bytesOf(attachment.content),
    }));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new RejectedDocument(/^Maximum /.test(message) ? "email_too_complex" : "email_unreadable", message);
  }
}

const boundaryPattern = /\bboundary\s*=\s*(?:"([^"\r\n]{1,200})"|([^\s;"]{1,200}))/gi;

/** Counts the lines that open a part, for all boundaries that the message declares anywhere. */
function refuseManyParts(bytes: Uint8Array, partsMax: number): void {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
  const boundaries = new Set<string>();
  for (const [, quoted, bare = ""] of text.matchAll(boundaryPattern)) {
    boundaries.add(quoted ?? bare);
    if (boundaries.size > partsMax) throw tooManyParts(partsMax);
  }
  let parts = 1;
  for (const line of text.matchAll(/^--([^\r\n]{1,200}?)[ \t]*$/gm)) {
    if (boundaries.has(line[1] ?? "") && ++parts > partsMax) throw tooManyParts(partsMax);
  }
}

function tooManyParts(partsMax: number): RejectedDocument {
  return new RejectedDocument("email_too_complex", `over ${partsMax} parts`);
}

function bytesOf(content: ArrayBuffer | Uint8Array | string): Uint8Array {
  if (typeof content === "string") return new TextEncoder().encode(content);
  return content instanceof Uint8Array ? content : new Uint8Array(content);
}
