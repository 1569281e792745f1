// The order of the measurements, and what they add up to. Interleaved: every case once a round, the order reversed
// every other round, so that a machine that grows slower or faster meanwhile favours nobody.

import { monotonicMs } from "./clock.ts";
import { type Case, type Comparison, type Figures, NotThere, type Row } from "./row.ts";
import { advantage, median } from "./statistics.ts";

/** A case, what each of its rounds found, and the error that ended it, if one did. */
export interface CaseResult {
  readonly row: Row;
  readonly case: Case;
  readonly rounds: readonly Figures[];
  readonly error: string | null;
  /** What it needs and this machine does not have. Then it was not measured, and did not fail. */
  readonly missing: string | null;
}

/** Told what happens while it happens. */
export interface Progress {
  began(round: number, row: Row, oneCase: Case): void;
  measured(row: Row, figures: Figures): void;
  failed(error: string): void;
  skipped(missing: string): void;
}

export interface Plan {
  readonly cases: readonly Pick<CaseResult, "row" | "case">[];
  readonly rounds: number;
  /** A round begins only if it is likely to end within this time; the first one always does. */
  readonly withinMs: number;
}

/** Measures every case once a round. A case that fails is not tried again, and stops nobody else. Throws on `signal`. */
export async function measureRounds(
  { cases, rounds, withinMs }: Plan,
  measure: (row: Row, oneCase: Case) => Promise<Figures>,
  progress: Progress,
  signal?: AbortSignal,
): Promise<readonly CaseResult[]> {
  const results = cases.map((entry) => ({
    ...entry,
    rounds: [] as Figures[],
    error: null as string | null,
    missing: null as string | null,
  }));
  const beganAt = monotonicMs();
  for (let round = 0; round < rounds; round += 1) {
    const elapsedMs = monotonicMs() - beganAt;
    if (round > 0 && elapsedMs + elapsedMs / round > withinMs) break;
    const order = round % 2 === 0 ? results : results.toReversed();
    for (const result of order.filter(({ error, missing }) => error === null && missing === null)) {
      signal?.throwIfAborted();
      progress.began(round, result.row, result.case);
      try {
        const figures = await measure(result.row, result.case);
        result.rounds.push(figures);
        progress.measured(result.row, figures);
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof NotThere) {
          result.missing = error.message;
          progress.skipped(error.message);
          continue;
        }
        result.error = error instanceof Error ? error.message : String(error);
        progress.failed(result.error);
      }
    }
  }
  return results;
}

/** The median over the rounds of each figure. */
export function medians({ rounds }: Pick<CaseResult, "rounds">): Figures {
  const names = Object.keys(rounds[0] ?? {});
  return Object.fromEntries(names.map((name) => [name, median(rounds.flatMap((figures) => figures[name] ?? []))]));
}

/** The ratios by key: of each comparison, the median over the rounds of the ratio within a round. Failed cases have none. */
export function ratios(results: readonly CaseResult[]): Readonly<Record<string, number>> {
  const found: Record<string, number> = {};
  const finished = results.filter(({ error }) => error === null);
  for (const row of new Set(finished.map((result) => result.row))) {
    const inRow = finished.filter((result) => result.row === row);
    for (const comparison of row.comparisons) {
      const ours = inRow.find(({ case: each }) => each.contender === "doorbell" && each.variant === comparison.ours);
      if (ours === undefined) continue;
      for (const theirs of inRow) {
        if (theirs.case.contender === "doorbell" || theirs.case.variant !== comparison.theirs) continue;
        const byRound = ratiosByRound(ours.rounds, theirs.rounds, comparison);
        if (byRound.length > 0) found[`${comparison.name}/${theirs.case.contender}`] = median(byRound);
      }
    }
  }
  return found;
}

/** Empty where the figure is not to be had, as processor time on some systems. */
function ratiosByRound(
  ours: readonly Figures[],
  theirs: readonly Figures[],
  { figure, better }: Comparison,
): readonly number[] {
  return ours.flatMap((figures, round) => {
    const [our, their] = [figures[figure], theirs[round]?.[figure]];
    return our === undefined || their === undefined ? [] : advantage(our, their, better);
  });
}
