// `npm run check`: format, lint, layers, types, dead code. All of them run, so that one look shows all there is to mend.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

const checks: readonly (readonly [name: string, ...command: string[]])[] = [
  ["format, lint and layers", "node_modules/@biomejs/biome/bin/biome", "check", "--error-on-warnings", "."],
  ["types of doorbell-jobs", "node_modules/typescript/bin/tsc", "-p", "packages/doorbell"],
  ["types of invoices", "node_modules/typescript/bin/tsc", "-p", "apps/invoices"],
  ["types of scripts", "node_modules/typescript/bin/tsc", "-p", "scripts"],
  ["types of bench", "node_modules/typescript/bin/tsc", "-p", "bench"],
  ["dead code", "node_modules/knip/bin/knip.js", "--no-progress"],
];

// The bench is not a workspace. Its types are checked against its peers', but their Node binary is left to the bench.
if (!existsSync("bench/node_modules")) {
  spawnSync("npm", ["ci", "--omit=optional", "--loglevel=error"], { cwd: "bench", stdio: "inherit" });
}

let failures = 0;
for (const [name, ...command] of checks) {
  const startedAt = Date.now();
  const { status } = spawnSync(process.execPath, command, { stdio: "inherit" });
  console.log(`${status === 0 ? "ok    " : "FAILED"} ${name} (${((Date.now() - startedAt) / 1000).toFixed(1)} s)`);
  if (status !== 0) failures += 1;
}
process.exit(failures === 0 ? 0 : 1);
