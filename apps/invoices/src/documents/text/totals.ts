// Chooses total, net and VAT among labelled amounts. Labels name the candidates, arithmetic (net + VAT = total)
// confirms them; arithmetic alone never makes an unlabelled amount a field.
import { type Amount, absoluteAmount, compareAmounts, percentOf, subtractAmounts, sumAmounts } from "../amount.ts";
import type { Line } from "../pdf/layout.ts";
import { findAmounts } from "./amounts.ts";
import { type Candidate, type Choice, choose } from "./candidate.ts";
import { labelValues } from "./labelled.ts";
import { type AmountRole, amountRole } from "./labels.ts";

export interface PrintedTotals {
  readonly total: Choice<Amount> | null;
  readonly net: Choice<Amount> | null;
  readonly vat: Choice<Amount> | null;
  readonly due: Choice<Amount> | null;
  readonly prepaid: Choice<Amount> | null;
}

type AmountCandidates = Readonly<Record<AmountRole, readonly Candidate<Amount>[]>>;

/** More VAT than this share of the net is no VAT rate of any country, but a coincidence of numbers. */
const vatMaxPercent = "30.00";
/** Candidates are combined with each other, so a hostile page must not bring thousands. */
const distinctAmountsMax = 200;

/** Reads the totals of a document. */
export function readTotals(lines: readonly Line[]): PrintedTotals {
  const candidates = amountCandidates(lines);
  const totals = distinct(totalCandidates(candidates));
  const sums = consistentSums(totals, distinct(withSums(candidates.net)), distinct(withSums(candidates.vat)));
  const total = choose(confirmedFirst(totals, sums));
  const confirming = sums.filter((sum) => sum.total.value === total?.value);
  return {
    total,
    net: choose(confirming.map((sum) => sum.net)) ?? onlyValue(candidates.net),
    vat: choose(confirming.map((sum) => sum.vat)) ?? onlyValue(candidates.vat),
    due: choose(candidates.due),
    prepaid: choose(candidates.prepaid),
  };
}

function amountCandidates(lines: readonly Line[]): AmountCandidates {
  const candidates: Record<AmountRole, Candidate<Amount>[]> = { total: [], net: [], vat: [], due: [], prepaid: [] };
  for (const { value, line, before, above, isLast } of labelValues(lines, findAmounts)) {
    // "VAT 20 % on 81.90: 16.38": the row names its last amount, the ones before it are what that was computed from.
    const rowRole = before !== null && isLast ? amountRole(before) : null;
    const columnRole = above === null ? null : amountRole(above);
    if (rowRole !== null) candidates[rowRole].push({ value, evidence: "label", line });
    else if (columnRole !== null) candidates[columnRole].push({ value, evidence: "hint", line });
  }
  return candidates;
}

/** What is due is the total where no total is printed and nothing was paid before. */
function totalCandidates({ total, due, prepaid }: AmountCandidates): readonly Candidate<Amount>[] {
  const labelled = total.filter((candidate) => candidate.evidence === "label");
  if (labelled.length > 0 || due.length === 0 || prepaid.length > 0) return total;
  return [...due, ...total];
}

/** Rows by rate add up to the field: the candidates, and their sum over the lines of each kind of evidence. */
function withSums(candidates: readonly Candidate<Amount>[]): readonly Candidate<Amount>[] {
  const sums = (["label", "hint"] as const).flatMap((evidence) => {
    const rows = candidates.filter((candidate) => candidate.evidence === evidence);
    const [first] = rows;
    return first === undefined || rows.length < 2
      ? []
      : [{ value: sumAmounts(rows.map((row) => row.value)), evidence: "hint" as const, line: first.line }];
  });
  return [...candidates, ...sums];
}

interface ConsistentSum {
  readonly total: Candidate<Amount>;
  readonly net: Candidate<Amount>;
  readonly vat: Candidate<Amount>;
}

function consistentSums(
  totals: readonly Candidate<Amount>[],
  nets: readonly Candidate<Amount>[],
  vats: readonly Candidate<Amount>[],
): readonly ConsistentSum[] {
  const vatByValue = new Map(vats.map((vat) => [vat.value, vat]));
  return totals.flatMap((total) =>
    nets.flatMap((net) => {
      const vat = vatByValue.get(subtractAmounts(total.value, net.value));
      return vat !== undefined && isPlausibleVat(vat.value, net.value) ? [{ total, net, vat }] : [];
    }),
  );
}

function isPlausibleVat(vat: Amount, net: Amount): boolean {
  return compareAmounts(absoluteAmount(vat), percentOf(absoluteAmount(net), vatMaxPercent)) <= 0;
}

/** All stay, so that an unconfirmed rival of equal evidence still shows. */
function confirmedFirst(
  totals: readonly Candidate<Amount>[],
  sums: readonly ConsistentSum[],
): readonly Candidate<Amount>[] {
  const confirmed = new Set(sums.map((sum) => sum.total));
  return [...confirmed, ...totals.filter((total) => !confirmed.has(total))];
}

/** One candidate per value, the one of the best evidence, and no more of them than a person could look through. */
function distinct(candidates: readonly Candidate<Amount>[]): readonly Candidate<Amount>[] {
  const byValue = new Map<Amount, Candidate<Amount>>();
  for (const candidate of candidates) {
    const known = byValue.get(candidate.value);
    if (known === undefined || (known.evidence !== "label" && candidate.evidence === "label")) {
      byValue.set(candidate.value, candidate);
    }
  }
  return [...byValue.values()].slice(0, distinctAmountsMax);
}

function onlyValue(candidates: readonly Candidate<Amount>[]): Choice<Amount> | null {
  const choice = choose(candidates);
  return choice === null || choice.rivals.length > 0 ? null : choice;
}
