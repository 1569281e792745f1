// The bench's command line.

import { parseArgs } from "node:util";
import { type ContenderName, contenderNames } from "./contenders/index.ts";
import type { Row } from "./row.ts";
import { rows } from "./rows/index.ts";

export interface BenchOptions {
  readonly quick: boolean;
  readonly json: boolean;
  readonly rows: readonly Row[];
  readonly contenders: readonly ContenderName[];
  readonly rounds: number;
  /** No round begins that would end later than this. */
  readonly withinMs: number;
  readonly serverUrl: string | undefined;
  /** Where the result is kept as JSON, with the table beside it as Markdown. */
  readonly writePath: string | undefined;
}

/** What `--quick` promises, less the time to start and to end. */
const quickMs = 105_000;

export const usage = `npm run bench -- [options]

  --quick             fewer jobs and rounds: under two minutes
  --row NAME          only this row; may be given again (${rows.map(({ name }) => name).join(", ")})
  --contender NAME    only this one; may be given again (${contenderNames.join(", ")})
  --rounds N          how often each case is measured (5; quick: 3, or fewer where time runs out)
  --json              the last line is one JSON object, and there is no table
  --write FILE.json   keeps the result there, and the table beside it as FILE.md
  --server URL        a superuser's URL of another Postgres, instead of the embedded one
`;

/** Throws an Error that says what is wrong when the arguments are. Null when help was asked for. */
export function readOptions(args: readonly string[]): BenchOptions | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      row: {
        type: "string",
        multiple: true,
        default: rows.filter(({ onRequest }) => onRequest !== true).map(({ name }) => name),
      },
      contender: { type: "string", multiple: true, default: [...contenderNames] },
      rounds: { type: "string" },
      server: { type: "string" },
      write: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return null;
  if (values.write !== undefined && !values.write.endsWith(".json")) {
    throw new Error(`--write ${values.write}: the name must end in .json`);
  }
  return {
    quick: values.quick,
    json: values.json,
    rows: choose("row", values.row, rows, ({ name }) => name),
    contenders: choose("contender", values.contender, contenderNames, (name) => name),
    rounds: readRounds(values.rounds) ?? (values.quick ? 3 : 5),
    withinMs: values.quick ? quickMs : Number.POSITIVE_INFINITY,
    serverUrl: values.server,
    writePath: values.write,
  };
}

function choose<T>(
  what: string,
  wanted: readonly string[],
  all: readonly T[],
  nameOf: (one: T) => string,
): readonly T[] {
  const unknown = wanted.find((name) => !all.some((one) => nameOf(one) === name));
  if (unknown !== undefined) {
    throw new Error(`--${what} ${unknown}: there is no such ${what}, only ${all.map(nameOf).join(", ")}`);
  }
  return all.filter((one) => wanted.includes(nameOf(one)));
}

function readRounds(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const rounds = Number(text);
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > 100)
    throw new Error(`--rounds ${text}: a whole number from 1 to 100`);
  return rounds;
}
