// The ISO 4217 codes, from the list that the runtime carries, so that no table of ours grows old.

const codesInUse: ReadonlySet<string> = new Set(Intl.supportedValuesOf("currency"));

/** Whether the text is the code of a currency in use: three capital letters, nothing else. */
export function isCurrencyCode(text: string): boolean {
  return codesInUse.has(text);
}
