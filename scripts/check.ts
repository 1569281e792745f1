// `npm run check`: format, lint, layers, types, dead code. All of them run, so that one look shows all there is to mend.
import { spawnSync } from "node:child_process";

const checks: readonly (readonly [name: string, ...command: string[]])[] = [
  ["format, lint and layers", "node_modules/@biomejs/biome/bin/biome", "check", "--error-on-warnings", "."],
  ["types of doorbell-jobs", "node_modules/typescript/bin/tsc", "-p", "packages/doorbell"],
  ["types of invoices", "node_modules/typescript/bin/tsc", "-p", "apps/invoices"],
  ["types of scripts", "node_modules/typescript/bin/tsc", "-p", "scripts"],
  ["dead code", "node_modules/knip/bin/knip.js", "--no-progress"],
];

let failures = 0;
for (const [name, ...command] of checks) {
  const startedAt = Date.now();
  const { status } = spawnSync(process.execPath, command, { stdio: "inherit" });
  console.log(`${status === 0 ? "ok    " : "FAILED"} ${name} (${((Date.now() - startedAt) / 1000).toFixed(1)} s)`);
  if (status !== 0) failures += 1;
}
process.exit(failures === 0 ? 0 : 1);
