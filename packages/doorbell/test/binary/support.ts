// The binary as its users have it: a process with arguments and an environment, and nothing of this process's own.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../src/testing/database.ts";
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

/** A database of the test's own. In production the server of the tests must not say that it is the embedded one. */
export async function ownDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const name = new URL(database.adminUrl).pathname.slice(1);
  await database.query(`alter database ${name} set doorbell.embedded = 'off'`);
  return database;
}

function launch(args: readonly string[], env: Environment, cwd: string): ChildProcess {
  return spawn(process.execPath, [binary, ...args], {
    cwd,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** Runs a command to its end. */
export async function run(args: readonly string[], env: Environment = {}, cwd: string = tmpdir()): Promise<Ended> {
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

type LogLine = Readonly<Record<string, unknown>>;

/** `doorbell start`, from the moment at which it listens. Killed with the test, if it has not ended before. */
export class Running {
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

  static async start(args: readonly string[], env: Environment, cwd: string = tmpdir()): Promise<Running> {
    const running = new Running(launch(["start", "--port", "0", ...args], env, cwd));
    onTestFinished(async () => {
      running.kill("SIGKILL");
      await running.ended();
    });
    await running.says("listening", 20_000);
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
}
