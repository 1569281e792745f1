#!/usr/bin/env node
// The binary. Published, it runs the compiled CLI. In a checkout it runs the sources, in this same process: whoever kills
// it with -9 kills what does the work.
import { existsSync } from "node:fs";
import { register } from "node:module";

// A checkout may hold a `dist` as well, of the last `npm pack`, which is older than its sources.
const inCheckout = existsSync(new URL("../tsconfig.build.json", import.meta.url));

if (inCheckout) {
  const { register: registerTsx } = await import("tsx/esm/api");
  // In this order: hooks that are loaded through tsx's hooks, while this thread waits for them, may never come on Node 20.
  register("./source-condition.mjs", import.meta.url);
  registerTsx();
  await import("../src/cli/main.ts");
} else {
  await import("../dist/cli/main.js");
}
