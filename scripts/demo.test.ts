// The demo as it is run, from its first line to its last, and that nothing of it stays behind, however it ends.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

const script = fileURLToPath(new URL("./demo.ts", import.meta.url));
const withinMs = 120_000;

/** Where a run keeps whatever it keeps for itself. */
let temporary: string;
let demo: ChildProcess | null = null;
/** What it said on standard error. */
let told = "";

beforeEach(() => {
  temporary = mkdtempSync(join(tmpdir(), "demo-test-"));
  // As the temporary folder of a machine: for root, the embedded server's files belong to another user.
  chmodSync(temporary, 0o1777);
});
afterEach(() => {
  demo?.kill("SIGKILL");
  rmSync(temporary, { recursive: true, force: true });
});

function start(...args: string[]): ChildProcess {
  const { DATABASE_URL: _, ...env } = process.env;
  demo = spawn(process.execPath, ["--import", "tsx", "-C", "doorbell-source", script, ...args], {
    env: { ...env, TMPDIR: temporary },
    stdio: ["ignore", "pipe", "pipe"],
  });
  told = "";
  demo.stderr?.setEncoding("utf8").on("data", (text: string) => {
    told += text;
  });
  return demo;
}

async function linesUntilTheEnd(process: ChildProcess, onLine: (line: string) => void = () => {}): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of createInterface({ input: process.stdout as NodeJS.ReadableStream })) {
    lines.push(line);
    onLine(line);
  }
  return lines;
}

/** The processes that this one started, and those that they did. */
function descendantsOf(pid: number): readonly number[] {
  const table = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" });
  const pairs = table
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number));
  const found = [pid];
  for (const parent of found) {
    for (const [child, itsParent] of pairs) if (itsParent === parent && child !== undefined) found.push(child);
  }
  return found.slice(1);
}

/** The TypeScript loader keeps a cache there, which is its own. */
function foldersLeft(): readonly string[] {
  return readdirSync(temporary).filter((name) => !name.startsWith("tsx-"));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test(
  "everything holds: nothing lost, nothing twice, one worker killed, and the last line says so",
  async () => {
    const running = start("--once", "--json");
    const exit = once(running, "exit");
    const lines = await linesUntilTheEnd(running);
    expect(await exit, told).toEqual([0, null]);
    const last = JSON.parse(lines.at(-1) ?? "") as Record<string, number>;
    expect(last).toMatchObject({ documents: 30, effectsDeliveredTwice: 0, workersKilled: 1, jobsLost: 0 });
    expect(last["effectsDelivered"]).toBe(last["effectsRequested"]);
    expect(last["doorbellsDropped"]).toBeGreaterThan(0);
    expect(foldersLeft()).toEqual([]);
  },
  withinMs,
);

test(
  "stays up, says what to try, and takes everything down when it is interrupted",
  async () => {
    const running = start();
    const exit = once(running, "exit");
    let children: readonly number[] = [];
    const lines = await linesUntilTheEnd(running, (line) => {
      if (!line.endsWith("Ctrl-C ends everything.")) return;
      children = descendantsOf(running.pid as number);
      running.kill("SIGINT");
    });
    expect(await exit, told).toEqual([0, null]);
    expect(lines).toContain("Everything holds.");
    expect(lines.filter((line) => line.startsWith("  npm run doorbell -- "))).toHaveLength(5);
    expect(foldersLeft()).toEqual([]);
    expect(children.length).toBeGreaterThanOrEqual(4);
    await expect.poll(() => children.filter(isAlive), { timeout: 5_000, interval: 100 }).toEqual([]);
  },
  withinMs,
);

test.each([
  ["an option that it does not know", ["--twice"], "Unknown option '--twice'"],
  ["a folder that is not there", ["--documents", "/nowhere"], "there is no folder /nowhere"],
])("asked for %s, it says so and starts nothing", async (_, args, said) => {
  const running = start(...args);
  const exit = once(running, "exit");
  expect(await linesUntilTheEnd(running)).toEqual([]);
  expect(await exit).toEqual([2, null]);
  expect(told).toContain(said);
});

test(
  "killed with -9 itself, it leaves no process and no folder behind",
  async () => {
    const running = start();
    let children: readonly number[] = [];
    await linesUntilTheEnd(running, (line) => {
      if (!line.startsWith("Uploading")) return;
      children = descendantsOf(running.pid as number);
      running.kill("SIGKILL");
    });
    // The server, its watchers, web and two workers at least.
    expect(children.length, told).toBeGreaterThanOrEqual(5);
    await expect.poll(() => children.filter(isAlive), { timeout: 30_000, interval: 200 }).toEqual([]);
    await expect.poll(foldersLeft, { timeout: 30_000, interval: 200 }).toEqual([]);
  },
  withinMs,
);
