// How texts of the command line become values. What is none is a usage error, told by commander with the option's name.
import { userInfo } from "node:os";
import { Argument, InvalidArgumentError, Option } from "commander";
import { laneForm } from "../core/definition.ts";
import { toMs } from "../core/duration.ts";
import { DoorbellError } from "../core/errors.ts";
import { isUuid } from "../core/ids.ts";
import { requireTenant } from "../core/tenant.ts";

/** Turns our refusal into commander's. */
export function parser<Value>(parse: (text: string) => Value): (text: string) => Value {
  return (text) => {
    try {
      return parse(text);
    } catch (error) {
      throw new InvalidArgumentError(DoorbellError.isInstance(error) ? error.message : "not understood");
    }
  };
}

export function tenantOption(): Option {
  return new Option("--tenant <id>", "the tenant whose jobs are meant")
    .makeOptionMandatory()
    .argParser(parser(requireTenant));
}

export function jsonOption(): Option {
  return new Option("--json", "as one JSON document");
}

/** The options by which a list is read page by page. */
export function pageOptions(): readonly Option[] {
  return [
    new Option("--before <job>", "the page after this job: the last of the page before").argParser(jobId),
    new Option("--limit <number>", "jobs on a page, at most 1000").argParser(wholeNumber(1, 1_000)).default(100),
  ];
}

export function kindOption(meaning: string): Option {
  return new Option("--kind <kind>", meaning);
}

export function sinceOption(meaning: string): Option {
  return new Option("--since <time>", `${meaning}: "2h" ago, "2026-01-31", or "2026-01-31T12:00:00Z"`).argParser(since);
}

export function untilOption(meaning: string): Option {
  return new Option("--until <time>", `${meaning}; as --since`).argParser(since);
}

/** A reason is for whoever reads the record later: an empty one is none. */
export function reasonOption(meaning: string): Option {
  return new Option("--reason <text>", meaning).argParser(someText);
}

export function actorOption(): Option {
  return new Option("--actor <name>", "who does it, for the record")
    .default(osUser(), "the OS user")
    .argParser(someText);
}

export function jobArgument(): Argument {
  return new Argument("<job>", "its id").argParser(jobId);
}

/** Without a job the action is given undefined. */
export function jobsArgument(meaning: string): Argument {
  return new Argument("[job...]", meaning).argParser((text: string, before: readonly string[] | undefined) => [
    ...(before ?? []),
    jobId(text),
  ]);
}

/** An endpoint of webhooks. */
export function endpointArgument(): Argument {
  return new Argument("<endpoint>", "its id").argParser(jobId);
}

export function endpointOption(meaning: string): Option {
  return new Option("--endpoint <endpoint>", meaning).argParser(jobId);
}

export const jobId: (text: string) => string = parser((text) => {
  const id = text.toLowerCase();
  if (!isUuid(id)) throw new DoorbellError("option_invalid", `not a UUID: ${text.slice(0, 60)}`);
  return id;
});

export const laneName: (text: string) => string = parser((text) => {
  if (!laneForm.test(text)) throw new DoorbellError("option_invalid", "not made of a-z, 0-9, - and _ (at most 63)");
  return text;
});

/** Names of tables, split at commas; whether they are there is the database's to say. */
export const tableNames: (text: string) => readonly string[] = parser((text) => {
  const names = text.split(",").map((name) => name.trim());
  if (names.includes("")) throw new DoorbellError("option_invalid", "a name is empty");
  return names;
});

/** A setting of the database's, such as app.tenant_id. */
export const settingName: (text: string) => string = parser((text) => {
  if (!/^[a-z_]\w*(\.[a-z_]\w*)+$/i.test(text))
    throw new DoorbellError("option_invalid", "not a name such as app.tenant_id");
  return text;
});

const someText: (text: string) => string = parser((text) => {
  if (text.trim() === "") throw new DoorbellError("option_invalid", "empty");
  return text;
});

export function wholeNumber(min: number, max: number): (text: string) => number {
  return parser((text) => {
    const value = /^-?\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max))
      throw new DoorbellError("option_invalid", `not a whole number from ${min} to ${max}`);
    return value;
  });
}

/** As it is written, with its unit. */
export const duration: (text: string) => string = parser((text) => {
  toMs(text, "it");
  return text;
});

/** JSON text, as it is. */
export const jsonValue: (text: string) => unknown = parser((text) => {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new DoorbellError("option_invalid", `not JSON: ${(error as Error).message}`);
  }
});

/** An instant, or how long ago. */
export const since: (text: string) => Date = parser((text) => instantOf(text, -1));

/** An instant, or in how long. */
export const runAfter: (text: string) => Date | string = parser((text) => {
  if (!isDuration(text)) return instantOf(text, 1);
  toMs(text, "run-after");
  return text; // a delay is left to the database's clock
});

/** A day in UTC, or a time with its zone: the zone of whoever types it is not that of whoever reads it. */
const instantForm = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;

const isDuration = (text: string): boolean => /^[\d.]+[a-z]+$/.test(text);

function instantOf(text: string, direction: 1 | -1): Date {
  if (isDuration(text)) return new Date(Date.now() + direction * toMs(text, "it"));
  const at = new Date(instantForm.test(text) ? text : Number.NaN);
  if (Number.isNaN(at.getTime())) {
    throw new DoorbellError(
      "option_invalid",
      'neither a duration such as "2h" nor an instant such as "2026-01-31T12:00:00Z"',
    );
  }
  return at;
}

function osUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`;
  }
}
