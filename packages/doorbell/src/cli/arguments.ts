// How texts of the command line become values. What is none is a usage error, told by commander with the option's name.
import { userInfo } from "node:os";
import { InvalidArgumentError, Option } from "commander";
import { toMs } from "../core/duration.ts";
import { DoorbellError } from "../core/errors.ts";
import { isUuid } from "../core/ids.ts";
import { requireTenant } from "../core/tenant.ts";

/** Turns our refusal into commander's. */
function parser<Value>(parse: (text: string) => Value): (text: string) => Value {
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

export function actorOption(): Option {
  return new Option("--actor <name>", "who does it, for the record").default(osUser(), "the OS user");
}

export const jobId: (text: string) => string = parser((text) => {
  if (!isUuid(text)) throw new DoorbellError("option_invalid", "not a UUID");
  return text.toLowerCase();
});

/** For arguments that may be given many times. */
export function jobIds(text: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), jobId(text)];
}

export function wholeNumber(min: number, max: number): (text: string) => number {
  return parser((text) => {
    const value = /^-?\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max))
      throw new DoorbellError("option_invalid", `not a whole number from ${min} to ${max}`);
    return value;
  });
}

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
