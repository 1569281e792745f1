#!/usr/bin/env node
// The binary. Published, it runs the compiled CLI; in a checkout, the sources through tsx.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const compiled = new URL("../dist/cli/main.js", import.meta.url);
const source = fileURLToPath(new URL("../src/cli/main.ts", import.meta.url));

if (existsSync(compiled)) {
  await import(compiled.href);
} else if (process.execArgv.includes("doorbell-source")) {
  await import(source);
} else {
  const child = spawn(process.execPath, ["--import", "tsx", "-C", "doorbell-source", source, ...process.argv.slice(2)], { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => {
    if (signal !== null) process.kill(process.pid, signal);
    process.exit(code ?? 1);
  });
}
