// The result as one object for programs and as a table for people. Both hold the same figures; neither hides a failure.

import type { ContenderName } from "./contenders/index.ts";
import type { MachineDescription } from "./machine.ts";
import { type CaseResult, medians, ratios } from "./rounds.ts";
import type { Figures, Row } from "./row.ts";
import type { Description } from "./rows/schema.ts";

/** Under what conditions everything was measured. */
export interface Conditions {
  readonly startedAt: string;
  readonly quick: boolean;
  readonly node: string;
  readonly machine: MachineDescription;
  readonly postgres: { readonly version: string; readonly settings: Readonly<Record<string, string>> };
  readonly contenders: Readonly<Partial<Record<ContenderName, Description>>>;
}

export interface Report extends Conditions {
  readonly rounds: number;
  /** Above 1 always means that Doorbell is better. */
  readonly ratios: Readonly<Record<string, number>>;
  readonly rows: Readonly<Record<string, readonly ReportLine[]>>;
  readonly failures: readonly {
    readonly row: string;
    readonly contender: string;
    readonly variant: string;
    readonly error: string;
  }[];
  /** Not measured for want of something on this machine, which is no failure. */
  readonly missing: readonly { readonly row: string; readonly contender: string; readonly what: string }[];
}

export interface ReportLine {
  readonly contender: string;
  readonly variant: string;
  readonly median: Figures;
  readonly rounds: readonly Figures[];
}

export function makeReport(conditions: Conditions, results: readonly CaseResult[]): Report {
  const byRow = new Map<string, ReportLine[]>();
  for (const { row, case: oneCase, rounds, error, missing } of results) {
    if (error !== null || missing !== null) continue;
    const { contender, variant } = oneCase;
    const line = { contender, variant, median: tidy(medians({ rounds })), rounds: rounds.map(tidy) };
    byRow.set(row.name, [...(byRow.get(row.name) ?? []), line]);
  }
  return {
    ratios: Object.fromEntries(Object.entries(ratios(results)).map(([key, ratio]) => [key, Number(ratio.toFixed(2))])),
    rows: Object.fromEntries(byRow),
    failures: results.flatMap(({ row, case: { contender, variant }, error }) =>
      error === null ? [] : [{ row: row.name, contender, variant, error }],
    ),
    missing: results.flatMap(({ row, case: { contender }, missing }) =>
      missing === null ? [] : [{ row: row.name, contender, what: missing }],
    ),
    ...conditions,
    rounds: Math.max(...results.map(({ rounds }) => rounds.length)),
  };
}

/** The whole report as Markdown, which a terminal shows well enough as it is. */
export function formatReport(report: Report, rows: readonly Row[]): string {
  const sections = [formatConditions(report), ...rows.map((row) => formatRow(report, row)), formatSettings(report)];
  if (report.missing.length > 0) sections.push(formatMissing(report));
  if (report.failures.length > 0) sections.push(formatFailures(report));
  return `${sections.join("\n\n")}\n`;
}

function formatConditions({ machine, node, postgres, rounds, quick, startedAt }: Report): string {
  const settings = Object.entries(postgres.settings).map(([name, value]) => `${name} ${value}`);
  return [
    `Doorbell beside its peers, ${startedAt.slice(0, 10)}: medians of ${rounds} interleaved rounds${quick ? ", quick" : ""}`,
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, ${machine.system}; Node ${node} for all; ` +
      `Postgres ${postgres.version}: ${settings.join(", ")}`,
  ].join("\n\n");
}

function formatRow(report: Report, row: Row): string {
  const lines = report.rows[row.name] ?? [];
  const columns = row.columns.filter(({ figure }) => lines.some(({ median }) => median[figure] !== undefined));
  const keys = row.comparisons.map(({ name }) => name);
  const header = [row.name, "", ...columns.map(({ heading }) => heading)];
  const body = lines.map(({ contender, variant, median }) => [
    contender,
    variant,
    ...columns.map(({ figure, digits }) => formatNumber(median[figure], digits)),
  ]);
  const found = Object.entries(report.ratios).filter(([key]) => keys.includes(key.slice(0, key.indexOf("/"))));
  const comparison = found.map(([key, ratio]) => [key, `${ratio.toFixed(2)} ×`]);
  const tables = [formatTable([header, ...body])];
  if (comparison.length > 0) tables.push(formatTable([["Doorbell is better by", ""], ...comparison]));
  return [`${row.name}: ${row.title}`, ...tables].join("\n\n");
}

function formatSettings({ contenders }: Report): string {
  const lines = Object.entries(contenders).flatMap(([name, { version, settings }]) =>
    settings.map((setting, index) => [
      index === 0 ? `${name} ${version}` : "",
      setting.name,
      setting.value,
      setting.source,
    ]),
  );
  return `How the contenders were set up\n\n${formatTable([["contender", "setting", "value", "recommended by"], ...lines])}`;
}

function formatMissing({ missing }: Report): string {
  const lines = missing.map(({ row, contender, what }) => [row, contender, what]);
  return `Not measured\n\n${formatTable([["row", "contender", "because"], ...lines])}`;
}

function formatFailures({ failures }: Report): string {
  const lines = failures.map(({ row, contender, variant, error }) => [row, contender, variant, error]);
  return `FAILED\n\n${formatTable([["row", "contender", "", "error"], ...lines])}`;
}

/** A Markdown table; numbers (cells that begin with a digit) stand to the right. */
function formatTable(lines: readonly (readonly string[])[]): string {
  const [header = [], ...body] = lines;
  const widths = header.map((_, column) => Math.max(3, ...lines.map((line) => (line[column] ?? "").length)));
  const numeric = header.map((_, column) => isNumeric(body.map((line) => line[column] ?? "")));
  const format = (line: readonly string[]): string => {
    const cells = widths.map((width, column) => {
      const cell = line[column] ?? "";
      return numeric[column] ? cell.padStart(width) : cell.padEnd(width);
    });
    return `| ${cells.join(" | ")} |`;
  };
  const rule = widths.map((width, column) => `${"-".repeat(width - 1)}${numeric[column] ? ":" : "-"}`);
  return [format(header), `| ${rule.join(" | ")} |`, ...body.map(format)].join("\n");
}

function isNumeric(cells: readonly string[]): boolean {
  return cells.some((cell) => /^-?\d/.test(cell)) && cells.every((cell) => /^-?\d|^–?$/.test(cell));
}

/** `41,203`, `2.35`; a dash where there is nothing. */
export function formatNumber(value: number | undefined, digits: number): string {
  if (value === undefined) return "–";
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** Six digits are more than any of these figures deserves. */
function tidy(figures: Figures): Figures {
  return Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, Number(value.toPrecision(6))]));
}
