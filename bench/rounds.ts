// The order of the measurements, and what they add up to. Interleaved: every case once a round, the order reversed every
// other round, so that a machine that grows slower or faster meanwhile favours nobody.

import type { Case, Comparison, Figures, Row } from "./row.ts";
import { advantage, median } from "./statistics.ts";

/** A case with what its rounds found, in order; a round that failed is missing and its error is told. */
export interface CaseResult {
  readonly row: Row;
  readonly case: Case;
  readonly rounds: readonly { readonly round: number; readonly figures: Figures }[];
  readonly error: string | null;
}

export interface Progress {
  began(round: number, row: Row, oneCase: Case): void;
  measured(row: Row, figures: Figures): void;
  failed(error: string): void;
}

/** Measures every case `rounds` times. A case that fails is told, not tried again, and stops nobody else. */
export async function measureRounds(
  rows: readonly Row[],
  casesOf: (row: Row) => readonly Case[],
  rounds: number,
  measure: (row: Row, oneCase: Case) => Promise<Figures>,
  progress: Progress,
): Promise<readonly CaseResult[]> {
  const entries = rows.flatMap((row) => casesOf(row).map((oneCase) => new Entry(row, oneCase)));
  for (let round = 0; round < rounds; round += 1) {
    const order = round % 2 === 0 ? entries : entries.toReversed();
    for (const entry of order.filter(({ error }) => error === null)) {
      progress.began(round, entry.row, entry.case);
      try {
        const figures = await measure(entry.row, entry.case);
        entry.rounds.push({ round, figures });
        progress.measured(entry.row, figures);
      } catch (error) {
        entry.error = error instanceof Error ? error.message : String(error);
        progress.failed(entry.error);
      }
    }
  }
  return entries;
}

class Entry implements CaseResult {
  readonly row: Row;
  readonly case: Case;
  readonly rounds: { readonly round: number; readonly figures: Figures }[] = [];
  error: string | null = null;

  constructor(row: Row, oneCase: Case) {
    this.row = row;
    this.case = oneCase;
  }
}

/** The median over the rounds of each figure that every round has. */
export function medians({ rounds }: CaseResult): Figures {
  const names = Object.keys(rounds[0]?.figures ?? {});
  const values = (name: string): readonly number[] => rounds.map(({ figures }) => figures[name] ?? Number.NaN);
  return Object.fromEntries(names.map((name) => [name, median(values(name))]));
}

/** Each comparison's ratios, by key: the median over rounds of the ratio within a round. Failed cases have none. */
export function ratios(results: readonly CaseResult[]): Readonly<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const row of new Set(results.map((result) => result.row))) {
    const inRow = results.filter((result) => result.row === row && result.error === null);
    for (const comparison of row.comparisons) {
      const ours = inRow.find((result) => result.case.contender === "doorbell" && result.case.variant === comparison.ours);
      if (ours === undefined) continue;
      const others = inRow.filter((result) => result !== ours && result.case.variant === comparison.theirs);
      for (const theirs of others.filter(({ case: { contender } }) => contender !== "doorbell" || comparison.ours !== comparison.theirs)) {
        found[`${comparison.name}/${theirs.case.contender}`] = median(ratiosByRound(ours, theirs, comparison));
      }
    }
  }
  return found;
}

function ratiosByRound(ours: CaseResult, theirs: CaseResult, { figure, better }: Comparison): readonly number[] {
  return ours.rounds.map(({ figures }, round) =>
    advantage(figures[figure] ?? Number.NaN, theirs.rounds[round]?.figures[figure] ?? Number.NaN, better),
  );
}
