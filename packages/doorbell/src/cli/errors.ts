// From what a command threw to its one line on standard error and its exit code.
import { CommanderError } from "commander";
import { DoorbellError } from "../core/errors.ts";
import { describeFailure } from "../core/failure.ts";
import { printable } from "./table.ts";

export const exitCodes = { ok: 0, failed: 1, usage: 2, refused: 78 } as const;

/** The command line was not understood. */
export class UsageError extends Error {
  constructor(error: CommanderError, command: string) {
    super(`${withoutValue(error.message)}; see ${command} --help`);
  }

  /** Help or the version was asked for and has been shown; or help has been shown in the place of a command. */
  static isShown(error: CommanderError): boolean {
    return error.code.startsWith("commander.help") || error.code === "commander.version";
  }
}

/** A value may be a payload of any length, and is nobody's business: its option is named, and what is wrong with it. */
function withoutValue(message: string): string {
  return message
    .replace(/^error: /, "")
    .replace(/^(option '[^']*') argument '.*' is invalid\. /s, "$1: ")
    .replace(/^command-argument value '.*' is invalid for argument ('\w+')\. /s, "argument $1: ");
}

/** Null: there is nothing to say. */
export function errorLine(error: unknown): string | null {
  if (error instanceof CommanderError) return null;
  return printable(`doorbell: ${describeFailure(error).message}${advice(error)}`);
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  if (error instanceof UsageError) return exitCodes.usage;
  return DoorbellError.isInstance(error) ? error.traits.exitCode : exitCodes.failed;
}

/** What to do about errors that Postgres words for itself. */
function advice(error: unknown): string {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  if (code === "42501") return "; the login of DATABASE_URL may not do this (doorbell doctor tells what it lacks)";
  if (code === "42P01" || code === "42883" || code === "3F000")
    return "; is the schema there? doorbell migrate --check tells";
  return "";
}
