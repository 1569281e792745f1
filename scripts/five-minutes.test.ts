// The README's first job, as it stands there: the package is packed, a project is made of the blocks of code, and the
// commands are run. Only npm's download is left out: the dependencies are those of this checkout.
import { type ChildProcess, execFile, spawn } from "node:child_process";
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
import { promisify } from "node:util";
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

async function start(project: string): Promise<ChildProcess> {
  const child = spawn("npx", ["doorbell", "start"], {
    cwd: project,
    env: environment,
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  onTestFinished(() => {
    // npx and what it has started.
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  });
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    if (line.includes('"listening"')) break;
  }
  child.stdout?.resume();
  return child;
}

test(
  "a reader's first job runs as the README tells it, with the package as it is packed",
  async () => {
    const blocks = readSection("Five minutes to a first job");
    const shell = blocks.filter((block) => block.language === "sh").map((block) => block.text.trim());
    const [install, startCommand, session = ""] = shell;
    expect(install).toContain("npm pack --workspace doorbell-jobs");
    expect(startCommand).toBe("npx doorbell start");

    const project = await makeProject(blocks);
    const running = await start(project);
    const run = async (command: string): Promise<string> =>
      (await promisify(execFile)("sh", ["-c", command], { cwd: project, env: environment })).stdout;
    const [signUp = "", list = "", firstLogs = "", replay = "", secondLogs = "", enqueue = "", letters = ""] =
      session.split("\n");
    const until = (what: string, command: string, state: string, attempts: number) =>
      eventually(what, async () => {
        const [job] = JSON.parse(await run(`${command} --json`)) as { state: string; attempts: number }[];
        return job?.state === state && job.attempts === attempts;
      });

    const [, customer = "", job = ""] = /^customer (\S+)\njob (\S+)$/m.exec(await run(signUp)) ?? [];
    await until("the first attempt", list, "done", 1);
    expect(await run(firstLogs.replace("JOB", job))).toContain("hello, Ada");
    await run(replay.replace("JOB", job));
    await until("the second attempt", list, "done", 2);
    const story = await run(secondLogs.replace("JOB", job));
    expect(story).toContain("attempt 2 claimed");
    expect(story.match(/hello, Ada/g)).toHaveLength(1);
    await run(enqueue.replace("CUSTOMER", customer));
    await until("the dead letter", "npx doorbell dead-letters list --tenant globex", "failed", 1);
    expect(await run(letters)).toContain("customer_unknown");

    const databaseUrl = readFileSync(join(project, ".doorbell", "database-url"), "utf8");
    const sql = blocks.find((block) => block.language === "sql" && fileNameOf(block) === undefined)?.text ?? "";
    const client = new pg.Client(databaseUrl);
    await client.connect();
    const results = (await client.query(sql)) as unknown as pg.QueryResult[];
    await client.end();
    expect(results.map((result) => result.rows[0])).toContainEqual({ job_id: expect.any(String), created: true });
    await until("the job that SQL enqueued", list, "done", 1);

    running.kill("SIGTERM");
    await once(running, "exit");
  },
  withinMs,
);
