import { Command, CommanderError } from "commander";
import { expect, test } from "vitest";
import { DoorbellError } from "../core/errors.ts";
import { parser } from "./arguments.ts";
import { errorLine, exitCodeOf, UsageError } from "./errors.ts";

const refuse = parser((): never => {
  throw new DoorbellError("option_invalid", "too long");
});

/** What commander makes of a value that is refused. */
function refusalOf(args: readonly string[]): UsageError {
  const command = new Command("do")
    .option("--payload <json>", "", refuse)
    .argument("[job]", "", refuse)
    .configureOutput({ outputError: () => {} })
    .exitOverride();
  try {
    command.parse(args, { from: "user" });
  } catch (error) {
    return new UsageError(error as CommanderError, "doorbell do");
  }
  throw new Error("nothing was refused");
}

test.each(["it's secret", "two\nlines", "' is invalid. ", "x".repeat(100_000)])(
  "a value that is refused is not repeated",
  (value) => {
    expect(errorLine(refusalOf(["--payload", value]))).toBe(
      "doorbell: option '--payload <json>': too long; see doorbell do --help",
    );
    expect(errorLine(refusalOf([value]))).toBe("doorbell: argument 'job': too long; see doorbell do --help");
  },
);

test("the exit code says whose fault it was", () => {
  expect(exitCodeOf(refusalOf(["x"]))).toBe(2);
  expect(exitCodeOf(new CommanderError(0, "commander.helpDisplayed", "(outputHelp)"))).toBe(0);
  expect(exitCodeOf(new CommanderError(1, "commander.help", "(outputHelp)"))).toBe(2);
  expect(exitCodeOf(new DoorbellError("job_not_found", "no such job"))).toBe(1);
  expect(exitCodeOf(new DoorbellError("schema_version", "the schema is newer"))).toBe(78);
  expect(exitCodeOf(new Error("anything else"))).toBe(1);
  expect(exitCodeOf(undefined)).toBe(1);
});

test("what Postgres words for itself comes with what to do", () => {
  expect(errorLine(Object.assign(new Error("permission denied"), { code: "42501" }))).toMatch(/doorbell doctor tells/);
  expect(errorLine(Object.assign(new Error("no such function"), { code: "42883" }))).toMatch(/migrate --check tells/);
});
