// Finds amounts of money in printed text: "1.234,56", "1,234.56", "1 234,56", "1'234.56", "-9,32", "€ -9,32",
// "$10,375". A bare whole number is an amount only behind a currency sign; percentages, days, quantities and
// identifiers are none.
import { type Amount, parseDecimal } from "../amount.ts";
import type { Finder, Found } from "./labelled.ts";

const notInsideAWord = String.raw`(?<![\p{L}\d.,/_-])`;
/** A currency sign right behind a number belongs to that number. */
const signs = String.raw`(-\s?)?((?<!\d\s?)[$€£]\s?)?(-\s?)?`;
const wholePart = String.raw`(\d{1,3}(?:[.,'’ \u00a0\u202f]\d{3})+|\d+)`;
const centsPart = String.raw`([.,]\d{2})?`;
const notPartOfMore = String.raw`(?![\p{L}\d]|[.,]\d|\s?%|\/|-\d)`;
const printedAmount = new RegExp(notInsideAWord + signs + wholePart + centsPart + notPartOfMore, "gu");
const currencyBefore = /(?<!\d\s?)(?:[$€£]|\b(?:EUR|USD|GBP|CHF))\s?-?\s?$/u;

/** Finds every amount in a string. */
export const findAmounts: Finder<Amount> = (text) => {
  const amounts: Found<Amount>[] = [];
  for (const match of text.matchAll(printedAmount)) {
    const [printed, signBefore, currency, signAfter, whole = "", cents] = match;
    const hasCurrency = currency !== undefined || currencyBefore.test(text.slice(0, match.index));
    if (cents === undefined && !hasCurrency) continue;
    if (groupsWithDecimalMark(whole, cents)) continue;
    const digits = `${whole.replace(/\D/gu, "")}.${cents?.slice(1) ?? "00"}`;
    const value = parseDecimal(signBefore === undefined && signAfter === undefined ? digits : `-${digits}`);
    if (value !== null) amounts.push({ value, start: match.index, end: match.index + printed.length });
  }
  return amounts;
};

/** "1,234,56" is no number in any notation: the mark of the decimals cannot also part the thousands. */
function groupsWithDecimalMark(whole: string, cents: string | undefined): boolean {
  return cents !== undefined && whole.includes(cents.charAt(0));
}
