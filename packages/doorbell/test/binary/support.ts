// The binary as its users have it: arguments, an environment and a folder, and nothing of this process's own.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished, vi } from "vitest";
import { runCommand } from "../../src/cli/run.ts";
import { createTestDatabase, poolerUrlVariable, type TestDatabase } from "../../src/testing/database.ts";
import { eventually } from "../support.ts";

const binary = fileURLToPath(new URL("../../bin/doorbell.mjs", import.meta.url));
/** The application of these tests: fixtures/app.ts. */
export const appFile: string = fileURLToPath(new URL("../fixtures/app.ts", import.meta.url));

export type Environment = Readonly<Record<string, string>>;

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A folder of the test's own. */
export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "doorbell-binary-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A database that passes for production's: the server of the tests, which is the embedded one, is not told by it. */
export async function productionLikeDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  await database.query(`alter database ${nameOf(database)} set doorbell.embedded = 'off'`);
  await database.query(`alter database ${nameOf(database)} set synchronous_commit = on`);
  return database;
}

/** The same, gone with the test. */
export async function ownDatabase(): Promise<TestDatabase> {
  const database = await productionLikeDatabase();
  onTestFinished(() => database.drop());
  return database;
}

export function nameOf(database: TestDatabase): string {
  return new URL(database.adminUrl).pathname.slice(1);
}

/** Starts the binary as a process. */
export function launch(args: readonly string[], env: Environment = {}, cwd: string = tmpdir()): ChildProcess {
  return spawn(process.execPath, [binary, ...args], {
    cwd,
    env: environmentOf(env),
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** Runs a command to its end, in a process of its own. */
export async function runProcess(args: readonly string[], env?: Environment, cwd?: string): Promise<Ended> {
  const child = launch(args, env, cwd);
  const output = { stdout: "", stderr: "" };
  child.stdout?.on("data", (chunk) => {
    output.stdout += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    output.stderr += chunk;
  });
  const [code] = await once(child, "close");
  return { code, ...output };
}

let turn: Promise<unknown> = Promise.resolve();

/** Runs a command to its end in this process, without the second that starting one takes. They take turns. */
export function run(args: readonly string[], env: Environment = {}, cwd: string = tmpdir()): Promise<Ended> {
  const ended = turn.then(() => runHere(args, env, cwd));
  turn = ended.catch(() => {});
  return ended;
}

async function runHere(args: readonly string[], env: Environment, cwd: string): Promise<Ended> {
  const own = { env: process.env, cwd: process.cwd() };
  const output = { stdout: "", stderr: "" };
  const spies = (["stdout", "stderr"] as const).map((name) =>
    vi.spyOn(process[name], "write").mockImplementation((chunk) => {
      output[name] += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString();
      return true;
    }),
  );
  process.env = environmentOf(env);
  process.chdir(cwd);
  try {
    await runCommand(args);
    return { code: Number(process.exitCode ?? 0), ...output };
  } finally {
    process.exitCode = undefined;
    process.chdir(own.cwd);
    process.env = own.env;
    for (const spy of spies) spy.mockRestore();
  }
}

function environmentOf(env: Environment): NodeJS.ProcessEnv {
  // Where the run goes through a pooler, its age is not what is tested.
  const pooler = process.env[poolerUrlVariable] === undefined ? {} : { DOORBELL_POOLER: "test" };
  return { PATH: process.env["PATH"], HOME: process.env["HOME"], ...pooler, ...env };
}

type LogLine = Readonly<Record<string, unknown>>;

/** `doorbell start`, from the moment at which it listens. */
export class Running implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly log: LogLine[] = [];
  stderr = "";

  constructor(child: ChildProcess) {
    this.#child = child;
    let rest = "";
    child.stdout?.on("data", (chunk) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      this.log.push(...lines.map((line) => JSON.parse(line)));
    });
    child.stderr?.on("data", (chunk) => {
      this.stderr += chunk;
    });
  }

  static async start(args: readonly string[], env: Environment, cwd?: string): Promise<Running> {
    const running = new Running(launch(["start", "--port", "0", ...args], env, cwd));
    await running.says("listening", 20_000).catch(async (error: unknown) => {
      await running[Symbol.asyncDispose]();
      throw error;
    });
    return running;
  }

  /** The first line with this message. Fails at once when the process has ended without it. */
  says(message: string, withinMs = 10_000): Promise<LogLine> {
    return eventually(
      `the log to say "${message}"`,
      () => {
        const line = this.log.find((candidate) => candidate["message"] === message);
        const { exitCode } = this.#child;
        if (line === undefined && exitCode !== null) throw new Error(`exit code ${exitCode}: ${this.stderr}`);
        return line;
      },
      withinMs,
    );
  }

  async get(path: string): Promise<Response> {
    const { port } = await this.says("listening");
    return await fetch(`http://127.0.0.1:${port}${path}`);
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** The exit code, or the signal that ended it. */
  async ended(): Promise<number | NodeJS.Signals | null> {
    const { exitCode, signalCode } = this.#child;
    if (exitCode === null && signalCode === null) await once(this.#child, "close");
    return this.#child.exitCode ?? this.#child.signalCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill("SIGKILL");
    await this.ended();
  }
}

/** The same, killed with the test if it has not ended before. */
export async function started(args: readonly string[], env: Environment, cwd?: string): Promise<Running> {
  const running = await Running.start(args, env, cwd);
  onTestFinished(() => running[Symbol.asyncDispose]());
  return running;
}
