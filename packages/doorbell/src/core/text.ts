// Text on its way into Postgres: what it refuses (NUL, lone surrogates), how long text is in bytes, and how it is cut.
// Owns these rules for everyone. Must never throw: refusing is json.ts's part, repairing and cutting is this one's.
/** Matches what neither `text` nor `jsonb` can hold: NUL, and half of a surrogate pair. */
const unstorable = /[\0\p{Surrogate}]/u;
const unstorableEverywhere = /[\0\p{Surrogate}]/gu;

/** The name of the first thing in the text that Postgres cannot hold, or null. */
export function unstorablePart(text: string): "a NUL character" | "a lone surrogate" | null {
  const found = unstorable.exec(text);
  if (found === null) return null;
  return found[0] === "\0" ? "a NUL character" : "a lone surrogate";
}

/** The text with every NUL and lone surrogate replaced by U+FFFD. */
export function replaceUnstorable(text: string): string {
  return text.replace(unstorableEverywhere, "\u{fffd}");
}

/** What a cut text ends in. */
export const cutMarker = " …[cut]";

/** The text on one line: every run of white space and control characters becomes a space. */
export function oneLine(text: string): string {
  return text.replace(/[\s\p{Control}]+/gu, " ").trim();
}

/** Length in bytes of UTF-8. */
export function utf8Bytes(text: string): number {
  return Buffer.byteLength(text, "utf8");
}

/**
 * The text, or its beginning followed by the marker, in at most `maxBytes` bytes of UTF-8, never ending in half of a
 * character. The marker counts towards the limit, so `maxBytes` has to be larger than it.
 */
export function cutToBytes(text: string, maxBytes: number, marker: string = cutMarker): string {
  // UTF-16 units never outnumber UTF-8 bytes: what is longer than the limit in units need not be encoded as a whole.
  const head = text.length > maxBytes ? text.slice(0, maxBytes) : text;
  const bytes = Buffer.from(head, "utf8");
  if (head.length === text.length && bytes.length <= maxBytes) return text;
  let end = Math.max(0, Math.min(bytes.length, maxBytes - utf8Bytes(marker)));
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString("utf8", 0, end) + marker;
}

/**
 * At most `maxUnits` UTF-16 units, without encoding the whole: for the first, cheap cut of text that may be enormous.
 * Cut at white space where there is some, because a pattern does not recognise half a token.
 */
export function cutRoughly(text: string, maxUnits: number): string {
  if (text.length <= maxUnits) return text;
  const head = text.slice(0, maxUnits);
  const lastSpace = Math.max(head.lastIndexOf(" "), head.lastIndexOf("\n"));
  return lastSpace > maxUnits / 2 ? head.slice(0, lastSpace) : head;
}
