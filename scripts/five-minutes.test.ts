// The README's first job, as it stands there: the package is packed, a project is made of the blocks of code, and the
// commands are run. Only npm's download is left out: the dependencies are those of this checkout.
import { execFile, type StdioOptions, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual, promisify } from "node:util";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../packages/doorbell/test/support.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const withinMs = 120_000;

/** Nothing of the checkout's own npm, or `npx` would look for its binaries there; a port that is free. */
const environment: NodeJS.ProcessEnv = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_|VITE|DOORBELL_|DATABASE_)/.test(name)),
  ),
  DOORBELL_PORT: "0",
};

interface Block {
  readonly language: string;
  readonly text: string;
}

function readSection(title: string): readonly Block[] {
  const readme = readFileSync(`${root}README.md`, "utf8");
  const section = readme.split(`\n## ${title}\n`)[1]?.split("\n## ")[0] ?? "";
  return [...section.matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)].map(([, language = "", text = ""]) => ({
    language,
    text,
  }));
}

const isShell = ({ language }: Block): boolean => language === "sh";
/** SQL that is typed, and not a file. */
const isSession = (block: Block): boolean => block.language === "sql" && fileNameOf(block) === undefined;

/** The name that a file has in its first line. Undefined: a block that is no file. */
const fileNameOf = ({ text }: Block): string | undefined => /^(?:\/\/|--) (\S+\.\w+)\n/.exec(text)?.[1];

async function packInto(folder: string): Promise<void> {
  const pack = ["pack", "--workspace", "doorbell-jobs", "--pack-destination", folder];
  await promisify(execFile)("npm", pack, { cwd: root, env: environment });
  const archive = readdirSync(folder).find((name) => name.endsWith(".tgz")) ?? "no archive";
  await promisify(execFile)("tar", ["xzf", archive], { cwd: folder });
}

/** A project as `npm install` leaves it. */
async function makeProject(blocks: readonly Block[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "five-minutes-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  // For root, the embedded server runs as another user, who has to come in.
  chmodSync(folder, 0o755);
  await packInto(folder);
  const project = join(folder, "first-job");
  const modules = join(project, "node_modules");
  mkdirSync(join(modules, ".bin"), { recursive: true });
  renameSync(join(folder, "package"), join(modules, "doorbell-jobs"));
  symlinkSync("../doorbell-jobs/bin/doorbell.mjs", join(modules, ".bin", "doorbell"));
  for (const name of readdirSync(`${root}node_modules`)) {
    if (!name.startsWith(".") && name !== "doorbell-jobs")
      symlinkSync(`${root}node_modules/${name}`, join(modules, name));
  }
  writeFileSync(join(project, "package.json"), '{ "type": "module" }');
  for (const block of blocks) {
    const name = fileNameOf(block);
    if (name !== undefined) writeFileSync(join(project, name), block.text);
  }
  return project;
}

/** Resolves when it listens. It ends with the test, and the server that it brought along with it. */
async function start(project: string): Promise<void> {
  const binary = join(project, "node_modules", ".bin", "doorbell");
  const stdio: StdioOptions = ["ignore", "pipe", "inherit"];
  const child = spawn(process.execPath, [binary, "start"], { cwd: project, env: environment, stdio });
  onTestFinished(async () => {
    if (child.exitCode !== null) return;
    child.kill("SIGTERM");
    await once(child, "exit");
  });
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    if (line.includes('"listening"')) break;
  }
  child.stdout?.resume();
}

/** Sees the jobs of one tenant, as its people would. */
async function lookAt(
  project: string,
  tenant: string,
): Promise<{ readonly sql: pg.Client; readonly newest: () => Promise<object | undefined> }> {
  const sql = new pg.Client(readFileSync(join(project, ".doorbell", "database-url"), "utf8"));
  await sql.connect();
  onTestFinished(() => sql.end());
  const newest = async (): Promise<object | undefined> => {
    await sql.query("begin");
    await sql.query("select set_config('doorbell.tenant_id', $1, true)", [tenant]);
    const { rows } = await sql.query("select state, attempts from doorbell.all_jobs order by id desc limit 1");
    await sql.query("commit");
    return rows[0];
  };
  return { sql, newest };
}

test(
  "a reader's first job runs as the README tells it, with the package as it is packed",
  async () => {
    const blocks = readSection("Five minutes to a first job");
    const [install, startCommand, session = ""] = blocks.filter(isShell).map((block) => block.text.trim());
    expect(install).toContain("npm pack --workspace doorbell-jobs");
    expect(startCommand).toBe("npx doorbell start");
    const [signUp = "", list = "", firstLogs = "", replay = "", secondLogs = "", enqueue = "", letters = ""] =
      session.split("\n");

    const project = await makeProject(blocks);
    await start(project);
    const run = async (command: string): Promise<string> => {
      // As npx would, after some thought.
      const direct = command.replace("npx doorbell", "node node_modules/.bin/doorbell");
      return (await promisify(execFile)("sh", ["-c", direct], { cwd: project, env: environment })).stdout;
    };
    const acme = await lookAt(project, "acme");
    const globex = await lookAt(project, "globex");
    const until = (what: string, { newest }: typeof acme, state: string, attempts: number) =>
      eventually(what, async () => isDeepStrictEqual(await newest(), { state, attempts }));

    const [, customer = "", job = ""] = /^customer (\S+)\njob (\S+)$/m.exec(await run(signUp)) ?? [];
    await until("the first attempt", acme, "done", 1);
    expect(await run(list)).toMatch(new RegExp(`^${job} +customer.welcome +done +1/10 `, "m"));
    // What a job says is kept a moment after it was said.
    await eventually("what the job said", async () =>
      (await run(firstLogs.replace("JOB", job))).includes("hello, Ada"),
    );
    await run(replay.replace("JOB", job));
    await until("the second attempt", acme, "done", 2);
    const story = await run(secondLogs.replace("JOB", job));
    expect(story).toContain("attempt 2 claimed");
    expect(story.match(/hello, Ada/g)).toHaveLength(1);
    await run(enqueue.replace("CUSTOMER", customer));
    await until("the dead letter", globex, "failed", 1);
    expect(await run(letters)).toContain("customer_unknown");

    const results = await acme.sql.query(blocks.find(isSession)?.text ?? "");
    expect([results].flat().map((result) => result.rows[0])).toContainEqual({
      job_id: expect.any(String),
      created: true,
    });
    await until("the job that SQL enqueued", acme, "done", 1);
  },
  withinMs,
);
