// `npm run test:tenancy`: the tenant boundary on every version of Postgres that we promise, directly and through PgBouncer in
// transaction mode. Tells how much was compared in each; the last line says how many tests passed and failed.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { havePgBouncer } from "../packages/doorbell/test/servers/pgbouncer.ts";

const versions = ["15", "16", "17", "18"];
const routes = [
  { name: "direct", pool: 0 },
  { name: "PgBouncer, one connection", pool: 1 },
  { name: "PgBouncer", pool: 20 },
];
/** In one combination; fewer means that a part of the suite was not run. */
const comparisonsMin = 300;

const folder = mkdtempSync(join(tmpdir(), "doorbell-tenancy-"));
let passed = 0;
let failed = 0;

function run(version: string, pool: number): Promise<{ passed: number; failed: number; comparisons: number }> {
  const [report, counts] = [join(folder, "report.json"), join(folder, "counts")];
  rmSync(report, { force: true });
  writeFileSync(counts, "");
  const args = ["node_modules/vitest/vitest.mjs", "run", "packages/doorbell/test/tenancy"];
  const child = spawn(process.execPath, [...args, "--reporter=dot", "--reporter=json", `--outputFile.json=${report}`], {
    stdio: "ignore",
    env: {
      ...process.env,
      DOORBELL_TEST_POSTGRES: version,
      DOORBELL_TEST_POOL: String(pool),
      DOORBELL_TEST_COUNTS: counts,
      DOORBELL_TEST_TURNS: pool === 1 ? "10000" : "1000",
    },
  });
  return new Promise((resolve) => {
    child.on("exit", () => {
      try {
        const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(report, "utf8")) as Report;
        for (const { assertionResults } of testResults) {
          for (const { status, fullName, failureMessages } of assertionResults) {
            if (status === "failed")
              console.log(`  FAILED: ${fullName}\n    ${failureMessages.join("\n").slice(0, 2_000)}`);
          }
        }
        const broken = testResults.filter((one) => one.status === "failed" && one.assertionResults.length === 0).length;
        const comparisons = readFileSync(counts, "utf8")
          .split("\n")
          .reduce((sum, line) => sum + Number(line), 0);
        resolve({ passed: numPassedTests, failed: numFailedTests + broken, comparisons });
      } catch {
        resolve({ passed: 0, failed: 1, comparisons: 0 });
      }
    });
  });
}

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

const withPooler = havePgBouncer();
if (!withPooler) {
  console.log("SKIPPED: PgBouncer is not installed, and cannot be installed here");
  if (process.env["CI"]) failed += 1;
}
for (const version of versions) {
  for (const { name, pool } of routes.filter((route) => route.pool === 0 || withPooler)) {
    const startedAt = Date.now();
    const result = await run(version, pool);
    const enough = result.comparisons >= comparisonsMin;
    passed += result.passed;
    failed += result.failed + (enough ? 0 : 1);
    const seconds = ((Date.now() - startedAt) / 1_000).toFixed(0);
    console.log(
      `Postgres ${version}, ${name}: ${result.passed} passed, ${result.failed} failed, ` +
        `${result.comparisons.toLocaleString("en")} comparisons${enough ? "" : `, fewer than ${comparisonsMin}`} (${seconds} s)`,
    );
  }
}
rmSync(folder, { recursive: true, force: true });
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
