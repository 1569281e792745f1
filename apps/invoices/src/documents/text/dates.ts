// Finds days in printed text, in the notations of English, German, Dutch and French, and says in which order day and
// month stand. "03/04/2024" has two readings; which one holds is decided from the whole document or not at all.
import type { Finder, Found } from "./labelled.ts";

/** A day that may have two readings. Both are `YYYY-MM-DD`; a reading that is no day of the calendar is null. */
export interface PrintedDay {
  readonly dayFirst: string | null;
  readonly monthFirst: string | null;
}

export type DayOrder = "day-first" | "month-first";

const monthNames: readonly RegExp[] = [
  /^jan/,
  /^f[eé][bv]/,
  /^(?:mar|mär|mrz|maa|mrt)/,
  /^(?:apr|avr)/,
  /^(?:may|mai|mei)/,
  /^(?:jun|juin)/,
  /^(?:jul|juil)/,
  /^(?:aug|ao[uû])/,
  /^sep/,
  /^(?:oct|okt)/,
  /^nov/,
  /^d[eé][cz]/,
];

const yearFirst = String.raw`(?<![\d.])(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)`;
const numericDay = String.raw`(?<![\d./-])(\d{1,2})([./-])(\d{1,2})\5(\d{4}|\d{2})(?![\d/-])`;
const dayThenMonth = [
  String.raw`(?<!\d)(\d{1,2})(?:st|nd|rd|th|er|e)?\.?[\s-]+(?:of\s+|de\s+)?`,
  String.raw`(\p{L}{3,10})\.?,?[\s-]+(\d{4})(?!\d)`,
].join("");
const monthThenDay = String.raw`(?<!\p{L})(\p{L}{3,10})\.?\s+(\d{1,2})(?:st|nd|rd|th)?\s?,?\s+(\d{4})(?!\d)`;
const dayPattern = new RegExp([yearFirst, numericDay, dayThenMonth, monthThenDay].join("|"), "giu");

/** Finds every day in a string. */
export const findDays: Finder<PrintedDay> = (text) => {
  const days: Found<PrintedDay>[] = [];
  for (const match of text.matchAll(dayPattern)) {
    const value = printedDay(match);
    if (value.dayFirst === null && value.monthFirst === null) continue;
    days.push({ value, start: match.index, end: match.index + match[0].length });
  }
  return days;
};

/** The order that all days of a document allow, if at least one of them allows only that one; null without proof. */
export function provenDayOrder(days: readonly PrintedDay[]): DayOrder | null {
  const onlyDayFirst = days.some((day) => day.monthFirst === null);
  const onlyMonthFirst = days.some((day) => day.dayFirst === null);
  if (onlyDayFirst === onlyMonthFirst) return null;
  return onlyDayFirst ? "day-first" : "month-first";
}

/** Whether the day reads the same in either order, or in one order only. */
export function isUnambiguous(day: PrintedDay): boolean {
  return day.dayFirst === null || day.monthFirst === null || day.dayFirst === day.monthFirst;
}

/** The reading in the given order, or the only one there is. */
export function readDay(day: PrintedDay, order: DayOrder): string {
  const [preferred, other] = order === "day-first" ? [day.dayFirst, day.monthFirst] : [day.monthFirst, day.dayFirst];
  return preferred ?? other ?? "";
}

function printedDay(match: RegExpExecArray): PrintedDay {
  const [
    ,
    isoYear,
    isoMonth,
    isoDay,
    first,
    separator,
    second,
    shortYear,
    day,
    dayMonth,
    dayYear,
    monthName,
    monthDay,
    monthYear,
  ] = match;
  if (isoYear !== undefined) return certain(calendarDay(Number(isoYear), Number(isoMonth), Number(isoDay)));
  if (first !== undefined) {
    const year = fullYear(Number(shortYear));
    const dayFirst = calendarDay(year, Number(second), Number(first));
    // Nobody who writes the month first separates with dots.
    return separator === "."
      ? certain(dayFirst)
      : { dayFirst, monthFirst: calendarDay(year, Number(first), Number(second)) };
  }
  if (day !== undefined) return certain(calendarDay(Number(dayYear), monthNumber(dayMonth), Number(day)));
  return certain(calendarDay(Number(monthYear), monthNumber(monthName), Number(monthDay)));
}

function certain(day: string | null): PrintedDay {
  return { dayFirst: day, monthFirst: day };
}

function monthNumber(name = ""): number {
  return monthNames.findIndex((month) => month.test(name.toLowerCase())) + 1;
}

function fullYear(year: number): number {
  return year < 100 ? 2000 + year : year;
}

function calendarDay(year: number, month: number, day: number): string | null {
  if (month < 1 || month > 12 || year < 1900 || year > 2199) return null;
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCDate() === day ? date.toISOString().slice(0, 10) : null;
}
