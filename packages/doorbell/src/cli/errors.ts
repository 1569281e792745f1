// From what a command threw to its one line on standard error and its exit code.
import { CommanderError } from "commander";
import { DoorbellError } from "../core/errors.ts";
import { describeFailure } from "../core/failure.ts";
import { printable } from "./table.ts";

export const exitCodes = { ok: 0, failed: 1, usage: 2, refused: 78 } as const;

/** Null: there is nothing to say (help was asked for, and has been given). */
export function errorLine(error: unknown): string | null {
  if (error instanceof CommanderError) {
    // Help that was asked for is no error; help in the place of a command has been shown instead of an error.
    if (error.code.startsWith("commander.help") || error.code === "commander.version") return null;
    return printable(`doorbell: ${error.message.replace(/^error: /, "")}`);
  }
  return printable(`doorbell: ${describeFailure(error).message}${advice(error)}`);
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
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
