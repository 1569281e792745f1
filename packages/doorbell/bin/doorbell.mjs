#!/usr/bin/env node
// The binary. Published, it runs the compiled CLI. In a checkout it runs the sources, in this same process: whoever kills
// it with -9 kills what does the work.
import { existsSync } from "node:fs";
import { register } from "node:module";

const compiled = new URL("../dist/cli/main.js", import.meta.url);

if (existsSync(compiled)) {
  await import(compiled.href);
} else {
  const { register: registerTsx } = await import("tsx/esm/api");
  registerTsx();
  register("./source-condition.mjs", import.meta.url);
  await import("../src/cli/main.ts");
}
