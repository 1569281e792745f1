// The bench's side of a contender's process: starts it, asks it to run parts, and makes sure that it ends.

import { type ChildProcess, fork } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { ContenderName } from "../contenders/index.ts";
import type { Part } from "../row.ts";
import type { AgentMessage, RunMessage } from "./messages.ts";

/** A measurement that takes longer than this has failed: the slowest takes a few seconds. */
const deadlineMs = 120_000;
const entry = fileURLToPath(new URL("main.ts", import.meta.url));

export interface Agent {
  /**
   * Runs one part and resolves with its result. One part at a time. Rejects when the part throws, when the process
   * dies, and after two minutes.
   */
  run<Args, Result>(part: Part<Args, Result>, args: Args, onMark?: (label: string) => void): Promise<Result>;
  /** Ends the process at once. May be called again. */
  close(): Promise<void>;
}

export interface AgentOptions {
  readonly node: string;
  readonly contender: ContenderName;
  readonly databaseUrl: string;
  readonly queueUrl?: string;
  /** Gets what the process writes to its standard output and error. */
  readonly logPath: string;
}

/** Starts a contender's process. The newer Node strips the types by itself: what runs is the plain source. */
export function spawnAgent({ node, contender, databaseUrl, queueUrl, logPath }: AgentOptions): Agent {
  const log = openSync(logPath, "a");
  const child = fork(entry, [contender, databaseUrl, ...(queueUrl === undefined ? [] : [queueUrl])], {
    execPath: node,
    execArgv: ["--conditions=doorbell-source", "--disable-warning=ExperimentalWarning"],
    env: { ...process.env, NODE_OPTIONS: "" },
    stdio: ["ignore", log, log, "ipc"],
  });
  closeSync(log);
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  return {
    run: (part, args, onMark) => runPart(child, { part: part.name, args }, onMark ?? (() => {}), logPath),
    close: async () => {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

function runPart<Result>(
  child: ChildProcess,
  request: RunMessage,
  onMark: (label: string) => void,
  logPath: string,
): Promise<Result> {
  if (!child.connected) {
    return Promise.reject(new Error(`${request.part}: the contender's process has ended: ${lastLine(logPath)}`));
  }
  return new Promise((resolve, reject) => {
    const fail = (reason: string): void => finish(() => reject(new Error(`${request.part}: ${reason}`)));
    const onMessage = (message: AgentMessage): void => {
      if (message.type === "mark") onMark(message.label);
      else if (message.type === "error") fail(message.message);
      else finish(() => resolve(message.result as Result));
    };
    const onExit = (code: number | null, signal: string | null): void =>
      fail(`the contender's process ended with ${signal ?? `exit code ${code}`}: ${lastLine(logPath)}`);
    const timer = setTimeout(() => fail(`not finished after ${deadlineMs / 1000} s`), deadlineMs);
    const finish = (settle: () => void): void => {
      clearTimeout(timer);
      child.off("message", onMessage).off("exit", onExit);
      settle();
    };
    child.on("message", onMessage).on("exit", onExit);
    child.send(request);
  });
}

function lastLine(path: string): string {
  return readFileSync(path, "utf8").trimEnd().split("\n").at(-1) ?? "";
}
