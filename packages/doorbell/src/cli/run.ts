// Runs a command line to its end. What it threw becomes one line and an exit code.
import { errorLine, exitCodeOf } from "./errors.ts";
import { createProgram } from "./program.ts";

/** Never rejects. The exit code is the process's, for when it ends. */
export async function runCommand(args: readonly string[]): Promise<void> {
  try {
    await (await createProgram(args)).parseAsync(args, { from: "user" });
  } catch (error) {
    const line = errorLine(error);
    if (line !== null) process.stderr.write(`${line}\n`);
    process.exitCode = exitCodeOf(error);
  }
}
