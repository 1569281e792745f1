// `npm run test:effects`: effects happen once. The run-twice harness over the reference application's handlers and over planted
// mistakes, and 500 killed workers over 2,000 jobs. Tells each test; the last line says how many passed and failed.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly duration?: number | null;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

const files = [
  "apps/invoices/test/run-twice.test.ts",
  "packages/doorbell/test/run-twice.test.ts",
  "packages/doorbell/test/kills.test.ts",
];
const folder = mkdtempSync(join(tmpdir(), "doorbell-effects-"));
let passed = 0;
let failed = 0;

function run(file: string): Promise<Report | null> {
  const report = join(folder, "report.json");
  rmSync(report, { force: true });
  const reporters = ["--reporter=dot", "--reporter=json", `--outputFile.json=${report}`];
  const child = spawn(process.execPath, ["node_modules/vitest/vitest.mjs", "run", file, ...reporters], {
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, DOORBELL_TEST_LONG: "1" },
  });
  return new Promise((resolve) => {
    child.on("exit", () => {
      try {
        resolve(JSON.parse(readFileSync(report, "utf8")) as Report);
      } catch {
        resolve(null);
      }
    });
  });
}

// One after the other: kills are timed, and a busy machine would time them otherwise.
for (const file of files) {
  const report = await run(file);
  const tests = report?.testResults.flatMap(({ assertionResults }) => assertionResults) ?? [];
  if (tests.length === 0) {
    console.log(`FAILED ${file}: no test of it ran`);
    failed += 1;
  }
  for (const { status, fullName, duration, failureMessages } of tests) {
    const isPassed = status === "passed";
    if (isPassed) passed += 1;
    else failed += 1;
    console.log(`${isPassed ? "ok    " : "FAILED"} ${fullName.trim()} (${((duration ?? 0) / 1_000).toFixed(1)} s)`);
    if (!isPassed) console.log(`  ${failureMessages.join("\n").slice(0, 2_000) || status}`);
  }
}
rmSync(folder, { recursive: true, force: true });
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
