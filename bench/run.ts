// `npm run bench`: Doorbell beside other job systems on this machine. See README.md for what is measured, and how.
// Standard output gets the result and nothing else; progress goes to standard error. Writes only to .bench/, or where it is told.

import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { ContenderName } from "./contenders/index.ts";
import { type Hall, openHall } from "./hall.ts";
import { describeMachine } from "./machine.ts";
import { installContenders } from "./node-binary.ts";
import { type BenchOptions, readOptions, usage } from "./options.ts";
import { type Conditions, formatNumber, formatReport, makeReport, type Report } from "./report.ts";
import { measureRounds, type Progress } from "./rounds.ts";
import type { Case, Row } from "./row.ts";
import type { Description } from "./rows/schema.ts";

const exitCodes = { failed: 1, usage: 2, interrupted: 130 };
const logFolder = fileURLToPath(new URL("../.bench/logs/", import.meta.url));

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

function parse(): BenchOptions {
  try {
    const options = readOptions(process.argv.slice(2));
    if (options !== null) return options;
    process.stdout.write(usage);
    process.exit();
  } catch (error) {
    say(`${error instanceof Error ? error.message : error}\n\n${usage}`);
    process.exit(exitCodes.usage);
  }
}

async function main(options: BenchOptions): Promise<void> {
  const startedAt = new Date().toISOString();
  const node = await installContenders(say);
  say("starting Postgres …");
  const hall = await openHall({ contenders: options.contenders, node, serverUrl: options.serverUrl, logFolder });
  const interruption = new AbortController();
  const closeOnce = once(() => hall.close());
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      interruption.abort(new Error("interrupted"));
      process.exitCode = exitCodes.interrupted;
      void closeOnce();
    });
  }
  try {
    const cases = options.rows.flatMap((row) => casesOf(row, options).map((oneCase) => ({ row, case: oneCase })));
    const measured = options.contenders.filter((name) => cases.some(({ case: { contender } }) => contender === name));
    const conditions = await readConditions(hall, node, startedAt, { ...options, contenders: measured });
    const progress = showProgress(cases.length * options.rounds);
    const [first] = cases;
    if (first !== undefined) {
      say("warming up: the first case, not counted …");
      // Whoever came first would pay for a cold server. If it fails, it fails again, where it is told.
      await hall.measure(first.row, first.case).catch(() => {});
    }
    const results = await measureRounds({ cases, ...options }, hall.measure, progress, interruption.signal);
    publish(makeReport(conditions, results), options);
  } catch (error) {
    if (!interruption.signal.aborted) throw error;
    say("interrupted");
  } finally {
    await closeOnce();
  }
}

function casesOf(row: Row, { quick, contenders }: BenchOptions): readonly Case[] {
  return row.cases(quick).filter(({ contender }) => contenders.includes(contender));
}

async function readConditions(hall: Hall, node: string, startedAt: string, options: BenchOptions): Promise<Conditions> {
  const { quick, contenders } = options;
  // One that cannot be installed fails in its rows, where it is told.
  const unknown = { version: "unknown", settings: [] };
  // One after the other: installing makes logins, which all databases of a server share.
  const described: [ContenderName, Description][] = [];
  for (const name of contenders) described.push([name, await hall.describe(name).catch(() => unknown)]);
  return {
    startedAt,
    quick,
    node: execFileSync(node, ["--version"], { encoding: "utf8" }).trim().slice(1),
    machine: describeMachine(),
    postgres: { version: hall.server.version, settings: hall.server.settings },
    contenders: Object.fromEntries(described),
  };
}

function showProgress(total: number): Progress {
  let number = 0;
  return {
    began: (round, row, { contender, variant }) => {
      number += 1;
      const name = variant === "" ? contender : `${contender}, ${variant}`;
      process.stderr.write(
        `${`${number}`.padStart(`${total}`.length)}/${total}  round ${round + 1}  ${row.name}  ${name}  `,
      );
    },
    measured: (row, figures) =>
      say(
        row.columns
          .slice(0, 2)
          .map(({ figure, heading, digits }) => `${formatNumber(figures[figure], digits)} ${heading}`)
          .join(", "),
      ),
    failed: (error) => say(`FAILED: ${error}`),
    skipped: (missing) => say(`not measured: ${missing}`),
  };
}

function publish(report: Report, { json, rows, writePath }: BenchOptions): void {
  const table = formatReport(report, rows);
  if (writePath !== undefined) {
    mkdirSync(dirname(writePath), { recursive: true });
    writeFileSync(writePath, `${JSON.stringify(report, null, 2)}\n`);
    writeFileSync(writePath.replace(/\.json$/, ".md"), table);
  }
  process.stdout.write(json ? `${JSON.stringify(report)}\n` : `\n${table}`);
  for (const { row, contender, error } of report.failures) say(`${row}: ${contender} failed: ${error}`);
  if (report.failures.length > 0) process.exitCode = exitCodes.failed;
}

function once(act: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= act();
    return done;
  };
}

await main(parse());
