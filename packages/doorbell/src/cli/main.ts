// The entry point of the binary: runs the command, and turns how it ended into an exit code.
import { errorLine, exitCodeOf } from "./errors.ts";
import { createProgram, throwErrors } from "./program.ts";

// Whoever reads may stop reading, as `head` does: that ends the command, and is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));

try {
  await throwErrors(createProgram()).parseAsync();
} catch (error) {
  const line = errorLine(error);
  if (line !== null) process.stderr.write(`${line}\n`);
  process.exitCode = exitCodeOf(error);
}
