// Starts fixtures as processes, and hears what they tell. All are gone with the test.
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { eventually } from "./support.ts";

export interface Told {
  readonly what: string;
  readonly [field: string]: unknown;
}

export class Child implements AsyncDisposable {
  readonly process: ChildProcess;
  readonly told: Told[] = [];

  constructor(fixture: string, env: Readonly<Record<string, string>>) {
    this.process = fork(fileURLToPath(new URL(`./fixtures/${fixture}`, import.meta.url)), {
      execArgv: ["--import", "tsx", "-C", "doorbell-source"],
      env: { ...process.env, ...env },
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    this.process.on("message", (message: Told) => this.told.push(message));
  }

  static async start(fixture: string, env: Readonly<Record<string, string>>): Promise<Child> {
    const child = new Child(fixture, env);
    await child.hears("ready", undefined, 20_000);
    return child;
  }

  /** The first thing told of this kind that matches. */
  hears(what: string, matches: (told: Told) => boolean = () => true, withinMs = 15_000): Promise<Told> {
    return eventually(
      `the process to tell "${what}"`,
      () => this.told.find((told) => told.what === what && matches(told)),
      withinMs,
    );
  }

  kill(signal: NodeJS.Signals): void {
    this.process.kill(signal);
  }

  /** Its exit code, or the signal that ended it. */
  async ended(): Promise<number | NodeJS.Signals> {
    if (this.process.exitCode !== null) return this.process.exitCode;
    if (this.process.signalCode !== null) return this.process.signalCode;
    return await new Promise((resolve) =>
      this.process.on("exit", (code, signal) => resolve(code ?? (signal as NodeJS.Signals))),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) {
      this.process.kill("SIGCONT");
      this.process.kill("SIGKILL");
    }
    await this.ended();
  }
}
