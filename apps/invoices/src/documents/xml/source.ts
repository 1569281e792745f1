// From bytes to XML text that is safe to parse. Refuses a DOCTYPE, entity declarations and NUL before any parser sees
// them, and bounds the number and the depth of elements. Decoding never throws: an unknown or false charset is noted,
// not fatal.
import type { Limits } from "../limits.ts";
import { RejectedDocument } from "../rejection.ts";

export interface XmlSource {
  readonly text: string;
  /** False when the declared encoding is unknown or contradicts the bytes, so that the text is a best guess. */
  readonly encodingCertain: boolean;
}

/** Decodes and guards. Throws `RejectedDocument` for what no invoice needs and every attack does. */
export function readXmlSource(bytes: Uint8Array, limits: Pick<Limits, "xmlDepth" | "xmlElements">): XmlSource {
  const source = decodeXml(bytes);
  if (source.text.includes("\0")) throw new RejectedDocument("xml_not_wellformed", "it contains a NUL character");
  if (/<!\s*(?:DOCTYPE|ENTITY)/i.test(source.text)) throw new RejectedDocument("xml_doctype_refused");
  boundElements(source.text, limits);
  return source;
}

function decodeXml(bytes: Uint8Array): XmlSource {
  const byMark = encodingByMark(bytes);
  if (byMark !== null) return decode(bytes, byMark);
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 200)).toString("latin1");
  const declared = /^\s*<\?xml[^>]*?\bencoding\s*=\s*["']([^"']*)["']/.exec(head)?.[1];
  // Two bytes a letter, and yet the declaration could be read byte by byte: it is false.
  if (declared !== undefined && /^(?:utf-?16|ucs-?2)/i.test(declared)) {
    return { ...decode(bytes, "utf-8"), encodingCertain: false };
  }
  return decode(bytes, declared ?? "utf-8");
}

function encodingByMark(bytes: Uint8Array): string | null {
  const [first, second, third] = bytes;
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  return null;
}

function decode(bytes: Uint8Array, encoding: string): XmlSource {
  try {
    return { text: new TextDecoder(encoding, { fatal: true }).decode(bytes), encodingCertain: true };
  } catch {
    return { text: new TextDecoder("utf-8").decode(bytes), encodingCertain: false };
  }
}

const commentCdataOrTag =
  /<!--[\s\S]*?(?:-->|$)|<!\[CDATA\[[\s\S]*?(?:\]\]>|$)|<\?[\s\S]*?(?:\?>|$)|<(\/?)[A-Za-z_:][^<>]*?(\/?)>/g;

/**
 * Counts tags as they are written. The parser recurses over what it builds, so depth must be known before it starts.
 */
function boundElements(text: string, limits: Pick<Limits, "xmlDepth" | "xmlElements">): void {
  let depth = 0;
  let elements = 0;
  for (const [, closing, selfClosing] of text.matchAll(commentCdataOrTag)) {
    if (closing === undefined) continue;
    if (closing === "/") {
      depth--;
      continue;
    }
    elements++;
    if (selfClosing !== "/") depth++;
    if (elements > limits.xmlElements)
      throw new RejectedDocument("xml_too_complex", `over ${limits.xmlElements} elements`);
    if (depth > limits.xmlDepth) throw new RejectedDocument("xml_too_complex", `nested over ${limits.xmlDepth} deep`);
  }
}
