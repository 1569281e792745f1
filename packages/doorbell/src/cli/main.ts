// The entry point of the binary.
import { runCommand } from "./run.ts";

// Whoever reads may stop reading, as `head` does: that ends the command, and is no failure.
for (const output of [process.stdout, process.stderr]) {
  output.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
}

await runCommand(process.argv.slice(2));
