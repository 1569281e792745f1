// A process of the binary, as the demo runs it: its lines are read and kept in a file, and it ends with the demo.
import { type ChildProcess, spawn } from "node:child_process";
import { createWriteStream, type WriteStream } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { DemoError } from "./demo-error.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const binary = `${root}packages/doorbell/bin/doorbell.mjs`;
const lifeline = new URL("./lifeline.mjs", import.meta.url).href;

/** A line of a process's log. */
export type LogLine = Readonly<Record<string, unknown>>;

export interface DemoProcessOptions {
  readonly name: string;
  /** Of the binary. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
}

/**
 * Signals the process $1 as its standard input says, and lets it go on when that ends: the demo must not leave a frozen
 * process behind, however it goes.
 */
const holdScript = 'while read -r signal; do kill -s "$signal" "$1"; done; kill -s CONT "$1"';
const stopWithinMs = 15_000;
const stderrKeptChars = 4_000;

export class DemoProcess {
  readonly name: string;
  readonly logFile: string;
  readonly #child: ChildProcess;
  readonly #log: WriteStream;
  readonly #listeners = new Set<(line: LogLine) => void>();
  readonly #ended: Promise<void>;
  #stderr = "";
  #isExpectedToEnd = false;
  #hold: ChildProcess | null = null;

  constructor({ name, args, env, logFile }: DemoProcessOptions) {
    this.name = name;
    this.logFile = logFile;
    this.#log = createWriteStream(logFile, { flags: "a" });
    this.#child = spawn(process.execPath, ["--import", lifeline, binary, ...args], {
      cwd: root,
      env: { ...inheritedEnvironment(), ...env },
      stdio: ["ignore", "pipe", "pipe", "pipe"],
      // A process group of its own, so that Ctrl-C in a terminal reaches the demo only, which takes everything down in order.
      detached: true,
    });
    this.#ended = new Promise((resolve) => this.#child.once("close", () => this.#log.end(resolve)));
    this.#read();
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** It has ended, and nobody wanted it to. */
  get hasDied(): boolean {
    return !this.#isExpectedToEnd && !this.isAlive;
  }

  /** Called with each line of its log. Returns how to stop. */
  onLine(listener: (line: LogLine) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The first line from now on with this message. Rejects when the process ends before. */
  async says(message: string): Promise<LogLine> {
    const line = new Promise<LogLine>((resolve) => {
      const stop = this.onLine((said) => {
        if (said["message"] !== message) return;
        stop();
        resolve(said);
      });
    });
    const ended = this.#ended.then(() => {
      throw new DemoError(
        `${this.name} ended before it said "${message}":\n${this.#stderr.trim() || `see ${this.logFile}`}`,
      );
    });
    return await Promise.race([line, ended]);
  }

  /** Resolves with its exit code when it has ended. */
  async ends(): Promise<number | null> {
    this.#isExpectedToEnd = true;
    await this.#ended;
    return this.#child.exitCode;
  }

  /** What it said on standard error. */
  get complaint(): string {
    return this.#stderr.trim();
  }

  /** Stops it in its tracks; it does not notice. */
  freeze(): void {
    this.#hold ??= this.#takeHold();
    this.#hold.stdin?.write("STOP\n");
  }

  thaw(): void {
    this.#hold?.stdin?.write("CONT\n");
  }

  async kill(): Promise<void> {
    this.#isExpectedToEnd = true;
    this.#child.kill("SIGKILL");
    await this.#ended;
  }

  /** In good order; with force, when that takes too long. */
  async stop(): Promise<void> {
    this.#isExpectedToEnd = true;
    this.#child.kill("SIGTERM");
    this.thaw();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), stopWithinMs);
    await this.#ended;
    clearTimeout(timer);
  }

  #takeHold(): ChildProcess {
    const hold = spawn("sh", ["-c", holdScript, "hold", `${this.pid}`], {
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
    });
    hold.stdin?.on("error", () => {});
    void this.#ended.then(() => hold.kill());
    return hold;
  }

  #read(): void {
    const { stdout, stderr } = this.#child;
    if (stdout === null || stderr === null) throw new Error(`${this.name} has no standard output`);
    createInterface({ input: stdout }).on("line", (text) => {
      this.#log.write(`${text}\n`);
      const line = parseLine(text);
      if (line !== null) for (const listener of this.#listeners) listener(line);
    });
    stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#log.write(text);
      this.#stderr = (this.#stderr + text).slice(-stderrKeptChars);
    });
  }
}

function parseLine(text: string): LogLine | null {
  try {
    return JSON.parse(text) as LogLine;
  } catch {
    return null;
  }
}

/** Without what is meant for a real deployment. */
function inheritedEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(
    ([name]) => !/^(DOORBELL_|INVOICES_|DATABASE_|NODE_ENV$)/.test(name),
  );
  return Object.fromEntries(entries);
}
