// `npm run test:queues`: every queue driver through the conformance suite, plainly and through faults, and whole systems on
// it while it fails, in their long forms. Says what it finds while it runs, then one table; the last line says how many
// tests passed and failed. `npm run test:queues -- redis nats` runs those rows alone.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type Reporter, startVitest, type TestCase, type TestModule } from "vitest/node";
import { queueFaultTests } from "../packages/doorbell/src/testing/index.ts";
import { haveNats } from "../packages/doorbell/test/servers/nats.ts";
import { haveRabbitmq } from "../packages/doorbell/test/servers/rabbitmq.ts";
import { haveRedis } from "../packages/doorbell/test/servers/redis.ts";

interface Row {
  readonly name: string;
  /** Below `test/queues`. */
  readonly files: readonly string[];
  /** Programs from Debian. */
  readonly needs?: readonly string[];
}

interface Result {
  plain: number;
  faults: number;
  failed: number;
  jobs: number;
  /** How many, by reason. */
  readonly skipped: Map<string, number>;
}

const programs: Readonly<Record<string, () => boolean>> = {
  "redis-server": haveRedis,
  "nats-server": haveNats,
  "rabbitmq-server": haveRabbitmq,
};
const driver = (name: string, ...needs: readonly string[]): Row => ({
  name,
  needs,
  files: [`${name}.test.ts`, "faults.test.ts"],
});
const allRows: readonly Row[] = [
  driver("postgres"),
  driver("memory"),
  driver("redis", "redis-server"),
  driver("nats", "nats-server"),
  driver("rabbitmq", "rabbitmq-server"),
  driver("sqs"),
  { name: "changing queues", files: ["swap.test.ts"], needs: ["redis-server", "nats-server"] },
  { name: "volume", files: ["volume.test.ts"], needs: ["redis-server"] },
];
const wanted = process.argv.slice(2);
const rows = allRows.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
const strange = wanted.filter((name) => !allRows.some((row) => row.name === name));
if (strange.length > 0) {
  console.error(`there is no ${strange.join(", no ")}; there are ${allRows.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}

const nowhere = { lacks: {}, place: () => Promise.reject(new Error("only the titles are asked for")) };
const faultTitles = new Set(queueFaultTests(nowhere).map(({ title }) => title));
const folder = mkdtempSync(join(tmpdir(), "doorbell-queues-"));
const figuresFile = join(folder, "figures");
const failures: string[] = [];

async function run({ name, files }: Row): Promise<Result> {
  const result: Result = { plain: 0, faults: 0, failed: 0, jobs: 0, skipped: new Map() };
  writeFileSync(figuresFile, "");
  Object.assign(process.env, {
    DOORBELL_TEST_LONG: "1",
    DOORBELL_TEST_QUEUE: name,
    DOORBELL_TEST_FIGURES: figuresFile,
  });
  let told = 0;
  /** What the tests have told since the last look. */
  const tell = (): void => {
    const lines = readFileSync(figuresFile, "utf8").split("\n").slice(0, -1);
    for (const line of lines.slice(told)) {
      const { text, jobs } = JSON.parse(line) as { readonly text: string; readonly jobs: number };
      result.jobs += jobs;
      console.log(`  ${text}`);
    }
    told = lines.length;
  };
  const fail = (title: string, errors: readonly { readonly message: string; readonly stack?: string }[]): void => {
    result.failed += 1;
    const text = errors.map(({ message, stack }) => stack ?? message).join("\n");
    failures.push(`${name}: ${title}\n    ${text.slice(0, 3_000).replaceAll("\n", "\n    ")}`);
    console.log(`  FAILED: ${title}: ${errors[0]?.message.split("\n")[0] ?? "without an error"}`);
  };
  const seen = (test: TestCase): void => {
    tell();
    const { state, errors } = test.result();
    if (state === "failed") fail(test.fullName, errors ?? []);
    else if (state === "skipped") {
      const reason = reasonOf(test);
      result.skipped.set(reason, (result.skipped.get(reason) ?? 0) + 1);
    } else if (state === "passed") {
      const isFault = faultTitles.has(test.name) || basename(test.module.moduleId) !== `${name}.test.ts`;
      result[isFault ? "faults" : "plain"] += 1;
      console.log(`  ok ${test.name} (${((test.diagnostic()?.duration ?? 0) / 1_000).toFixed(1)} s)`);
    }
  };
  /** What failed beside the tests: a file that could not be loaded, a server that did not start. */
  const ended = (module: TestModule): void => {
    const errors = [...module.errors(), ...[...module.children.allSuites()].flatMap((suite) => suite.errors())];
    if (errors.length > 0) fail(basename(module.moduleId), errors);
  };
  const reporter: Reporter = {
    onTestCaseResult: seen,
    onTestModuleEnd: ended,
    onTestRunEnd: (_, unhandled) => {
      if (unhandled.length > 0) fail("an error that no test has caught", unhandled);
    },
  };
  const paths = files.map((file) => `packages/doorbell/test/queues/${file}`);
  // One file at a time: they start the same servers, and measure.
  const vitest = await startVitest("test", paths, { watch: false, reporters: [reporter], fileParallelism: false });
  await vitest.close();
  tell();
  if (result.plain + result.faults + result.failed === 0) fail("no test was run", []);
  return result;
}

/** Its own, or that of the group that is skipped as a whole, whose title says it. */
function reasonOf(test: TestCase): string {
  const result = test.result();
  const note = result.state === "skipped" ? result.note : undefined;
  return note ?? (test.parent.type === "suite" ? test.parent.name : "not wanted here");
}

const table: string[][] = [["driver", "plain passed", "through faults passed", "jobs end to end", "skipped"]];
let passed = 0;
let failed = 0;
const needed = new Set(rows.flatMap(({ needs = [] }) => needs));
const there = new Map([...needed].map((program) => [program, programs[program]?.() ?? false]));
for (const row of rows) {
  const missing = (row.needs ?? []).filter((program) => !there.get(program));
  if (missing.length > 0) {
    const text = `${missing.join(" and ")}: not installed, and cannot be installed here`;
    console.log(`SKIPPED: ${row.name}: ${text}`);
    table.push([row.name, "-", "-", "-", `all: ${text}`]);
    if (process.env["CI"] === "true") {
      failed += 1;
      failures.push(`${row.name}: ${text}`);
    }
    continue;
  }
  const startedAt = performance.now();
  console.log(`${row.name} …`);
  const result = await run(row);
  passed += result.plain + result.faults;
  failed += result.failed;
  console.log(`${row.name}: ${result.failed} failed (${((performance.now() - startedAt) / 1_000).toFixed(0)} s)`);
  const skips = [...result.skipped].map(([reason, count]) => `${count}: ${reason}`);
  const figures = [result.plain, result.faults, result.jobs].map((count) => count.toLocaleString("en"));
  table.push([row.name, ...figures, skips.join("; ") || "-"]);
}
rmSync(folder, { recursive: true, force: true });

const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map((cells) => (cells[column] ?? "").length)));
console.log("");
for (const cells of table)
  console.log(
    cells.map((cell, column) => cell.padEnd(column === cells.length - 1 ? 0 : (widths[column] ?? 0))).join(" | "),
  );
console.log("");
for (const failure of failures) console.log(`FAILED: ${failure}`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
