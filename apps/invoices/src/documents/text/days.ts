// Chooses the invoice date and the due date among the days on the page, and reads all of them in one order.
import type { Line } from "../pdf/layout.ts";
import { type Candidate, type Choice, choose } from "./candidate.ts";
import { type DayOrder, findDays, isUnambiguous, provenDayOrder, readDay } from "./dates.ts";
import { labelValues } from "./labelled.ts";
import { type DayRole, dayRole } from "./labels.ts";

export interface Days {
  readonly date: Choice<string> | null;
  readonly dueDate: Choice<string> | null;
  /** The date has another reading, which nothing in the document rules out. */
  readonly isOrderAssumed: boolean;
}

/** Reads the days in the one order that the document proves, else in `customaryOrder`. */
export function readDays(lines: readonly Line[], customaryOrder: DayOrder): Days {
  const labelled = labelValues(lines, findDays);
  const proven = provenDayOrder(labelled.map(({ value }) => value));
  const order = proven ?? customaryOrder;
  const ambiguous = new Set<string>();
  const byRole: Record<DayRole, Candidate<string>[]> = { issued: [], dated: [], due: [] };
  const unlabelled: Candidate<string>[] = [];
  for (const { value: day, line, before, above, isFirst } of labelled) {
    const value = readDay(day, order);
    if (proven === null && !isUnambiguous(day)) ambiguous.add(value);
    unlabelled.push({ value, evidence: "place", line });
    // "Invoice date 1.3.2026, period 1.2.2026 - 28.2.2026": a label speaks for the day that follows it.
    const role = isFirst ? dayRole(before ?? above ?? "") : null;
    if (role !== null) byRole[role].push({ value, evidence: "label", line });
  }
  // A bare "Date" is the invoice's own only where no other label says "invoice date".
  const date = choose(byRole.issued) ?? choose(byRole.dated) ?? choose(unlabelled.slice(0, 1));
  return {
    date,
    dueDate: choose(byRole.due),
    isOrderAssumed: date !== null && ambiguous.has(date.value),
  };
}
