/**
 * Strings from documents, made fit to be stored and shown: no NUL or other control characters (PostgreSQL refuses
 * U+0000 in text and jsonb), no lone surrogates (jsonb refuses those too), no runs of blanks, bounded length. Total: it
 * never throws.
 */

/** Control characters but for tab and line ends, marks that turn the direction of writing, and invisible blanks. */
const CONTROL = /(?![\t\n\r])[\p{Cc}\p{Bidi_Control}\u200b\ufeff]/gu;
const LONE_SURROGATE = /\p{Surrogate}/gu;

/** Longest stored value of one field, in UTF-16 units. */
export const FIELD_CHARS_MAX = 300;

/**
 * Removes what cannot be stored or would change how the text around it is shown; keeps blanks and line ends as they
 * are.
 */
export function storableText(text: string): string {
  return text.replace(CONTROL, "").replace(LONE_SURROGATE, "\ufffd");
}

/** One field's value: storable, blanks collapsed, trimmed, cut at `FIELD_CHARS_MAX`; null if nothing is left. */
export function fieldText(text: string): string | null {
  const value = storableText(text).replace(/\s+/gu, " ").trim();
  return value === "" ? null : Array.from(value).slice(0, FIELD_CHARS_MAX).join("");
}
