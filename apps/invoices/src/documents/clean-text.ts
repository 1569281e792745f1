// Strings from documents, made fit to be stored and shown: no NUL or other control characters (PostgreSQL refuses
// U+0000 in text and jsonb), no lone surrogates (jsonb refuses those too), no runs of blanks, bounded length. Total: it
// never throws.

/** Control characters but for tab and line ends, marks that turn the direction of writing, and invisible blanks. */
const controlCharacter = /(?![\t\n\r])[\p{Cc}\p{Bidi_Control}\u200b\ufeff]/gu;
const loneSurrogate = /\p{Surrogate}/gu;

/** Longest stored value of one field, in code points. */
export const fieldMaxChars = 300;

/**
 * Removes what cannot be stored or would change how the text around it is shown; keeps blanks and line ends as they
 * are.
 */
export function storableText(text: string): string {
  return text.replace(controlCharacter, "").replace(loneSurrogate, "\ufffd");
}

/** One field's value: storable, blanks collapsed, trimmed, cut at `maxChars`; null if nothing is left. */
export function fieldText(text: string, maxChars = fieldMaxChars): string | null {
  const value = storableText(text).replace(/\s+/gu, " ").trim();
  return value === "" ? null : Array.from(value).slice(0, maxChars).join("");
}

/** A copy of plain JSON in which every string is storable: one that was cut may end in half a letter. */
export function storableJson<T>(value: T): T {
  return JSON.parse(JSON.stringify(value), (_, part: unknown) =>
    typeof part === "string" ? storableText(part) : part,
  );
}
