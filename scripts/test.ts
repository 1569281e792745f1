// `npm test`: all tests. Arguments go to vitest, so `npm test -- resend` runs what is named so. The last line says how
// many passed and failed, for people and machines; a skipped test is named before it, because a skip is a hole.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly success: boolean;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

const folder = mkdtempSync(join(tmpdir(), "doorbell-test-"));
const file = join(folder, "report.json");
const args = ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${file}`, ...process.argv.slice(2)];
const vitest = spawn(process.execPath, ["node_modules/vitest/vitest.mjs", ...args], { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => vitest.kill(signal));

vitest.on("exit", (code) => {
  let report: Report | null = null;
  try {
    report = JSON.parse(readFileSync(file, "utf8")) as Report;
  } catch {
    console.error("vitest ended without a report.");
  }
  rmSync(folder, { recursive: true, force: true });
  const results = report?.testResults ?? [];
  const skipped = results.flatMap(({ assertionResults }) =>
    assertionResults.filter(({ status }) => status === "skipped" || status === "pending"),
  );
  for (const { fullName } of skipped) console.log(`SKIPPED: ${fullName}`);
  // A file that could not be loaded has no tests to fail, and has failed all the same.
  const broken = results.filter(
    ({ status, assertionResults }) => status === "failed" && assertionResults.length === 0,
  ).length;
  const failed = (report?.numFailedTests ?? 1) + broken;
  if (skipped.length > 0) console.log(`${skipped.length} skipped`);
  console.log(`${report?.numPassedTests ?? 0} passed, ${failed} failed`);
  process.exit(failed > 0 ? 1 : (code ?? 1));
});
