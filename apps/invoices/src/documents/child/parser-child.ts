// One child process that reads documents, one at a time, and is killed when one takes too long, too much memory or says
// too much. What a document did is told apart from what befell the child: the first is an answer, the second an error
// that is worth another try.
import { type ChildProcess, spawn } from "node:child_process";
import { createRequire } from "node:module";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Limits } from "../limits.ts";
import { frameHeader } from "./frames.ts";
import { type Answer, answerFd } from "./protocol.ts";

/** The child failed, and not because of its document. */
export class ParserChildError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ParserChildError";
  }
}

/** Starting takes a quarter of a second; this is for a machine in distress. */
const startTimeoutMs = 30_000;
/** What the answer adds around the extraction, which is bounded by `outputBytes`. */
const answerSlackChars = 1024;
const stderrKeptChars = 8192;
const outOfMemory = /out of memory|Allocation failed/i;

interface Waiter {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (reason: unknown) => void;
}

export class ParserChild {
  readonly #limits: Limits;
  readonly #process: ChildProcess;
  readonly #streams: { readonly stdin: Writable; readonly stderr: Readable; readonly answers: Readable };
  #waiter: Waiter | null = null;
  #unfinishedLine = "";
  #stderr = "";
  #isAlive = true;

  private constructor(limits: Limits) {
    this.#limits = limits;
    this.#process = spawn(process.execPath, [...nodeArguments(limits), JSON.stringify(limits)], {
      stdio: ["pipe", "ignore", "pipe", "pipe"],
      env: childEnvironment(),
    });
    const { stdin, stderr, stdio } = this.#process;
    this.#streams = { stdin: stdin as Writable, stderr: stderr as Readable, answers: stdio[answerFd] as Readable };
    this.#listen();
  }

  /** Starts a child and waits until it can take a document. Throws `ParserChildError`. */
  static async start(limits: Limits): Promise<ParserChild> {
    const child = new ParserChild(limits);
    const timer = setTimeout(
      () => child.#failWith(new ParserChildError("parser child did not start in time")),
      startTimeoutMs,
    );
    try {
      const { type } = await child.#nextAnswer();
      if (type === "ready") return child;
      throw new ParserChildError(`parser child started with "${type}" instead of being ready`);
    } finally {
      clearTimeout(timer);
    }
  }

  /** False once the process has ended or is being killed. */
  get isAlive(): boolean {
    return this.#isAlive;
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /**
   * Hands over one document and waits for the answer; never two at once. Throws `ParserChildError` when the child
   * fails, and the signal's reason when aborted; the child is dead after either.
   */
  async read(document: Uint8Array, signal?: AbortSignal): Promise<Answer> {
    signal?.throwIfAborted();
    const answer = this.#nextAnswer();
    const waiter = this.#waiter;
    const onAbort = () => this.#failWith(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    const timer = setTimeout(() => {
      // A process that was frozen wakes up to its timers first: look at the pipe before blaming the document.
      setImmediate(() => {
        if (this.#waiter === waiter) this.#endWith({ type: "limit", code: "limit_time" });
      });
    }, this.#limits.timeMs);
    const { stdin } = this.#streams;
    stdin.write(frameHeader(document));
    stdin.write(document);
    try {
      return await answer;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    }
  }

  /** Kills the child; a document under way fails with `ParserChildError`. */
  kill(): void {
    this.#failWith(new ParserChildError("parser child was stopped"));
  }

  /** Lets this process exit although the child is still there; the child then ends by itself. */
  unref(): void {
    this.#process.unref();
    for (const stream of Object.values(this.#streams)) (stream as { unref?(): void }).unref?.();
  }

  ref(): void {
    this.#process.ref();
    for (const stream of Object.values(this.#streams)) (stream as { ref?(): void }).ref?.();
  }

  #nextAnswer(): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject };
    });
  }

  #listen(): void {
    const { stdin, stderr, answers } = this.#streams;
    this.#process.once("error", (error) => this.#failWith(new ParserChildError(`parser child: ${error.message}`)));
    this.#process.once("close", (code, signal) => this.#onClose(code, signal));
    // A child that dies while it is written to is reported by its "close".
    stdin.on("error", () => {});
    stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(0, stderrKeptChars);
    });
    answers.setEncoding("utf8").on("data", (text: string) => this.#onAnswerText(text));
  }

  #onAnswerText(text: string): void {
    const lines = (this.#unfinishedLine + text).split("\n");
    this.#unfinishedLine = lines.pop() ?? "";
    for (const line of lines) this.#onAnswer(line);
    if (this.#unfinishedLine.length > this.#limits.outputBytes + answerSlackChars) {
      this.#endWith({ type: "limit", code: "limit_output" });
    }
  }

  #onAnswer(line: string): void {
    let answer: Answer;
    try {
      answer = JSON.parse(line) as Answer;
    } catch {
      this.#failWith(new ParserChildError("parser child answered something other than JSON"));
      return;
    }
    if (answer.type === "limit") this.#endWith(answer);
    else this.#settle((waiter) => waiter.resolve(answer));
  }

  #onClose(code: number | null, signal: NodeJS.Signals | null): void {
    if (signal === "SIGABRT" && outOfMemory.test(this.#stderr)) {
      this.#endWith({ type: "limit", code: "limit_memory" });
      return;
    }
    const said = this.#stderr.trim().slice(0, 500);
    const how = `parser child ended with ${signal ?? `code ${code}`}`;
    this.#failWith(new ParserChildError(said === "" ? how : `${how}: ${said}`));
  }

  /** Kills the child for what its document did. */
  #endWith(answer: Answer): void {
    this.#kill();
    this.#settle((waiter) => waiter.resolve(answer));
  }

  /** Kills the child for what its document is not to blame for. */
  #failWith(reason: unknown): void {
    this.#kill();
    this.#settle((waiter) => waiter.reject(reason));
  }

  #kill(): void {
    this.#isAlive = false;
    this.#process.kill("SIGKILL");
  }

  #settle(settle: (waiter: Waiter) => void): void {
    const waiter = this.#waiter;
    this.#waiter = null;
    if (waiter !== null) settle(waiter);
  }
}

/** The child runs from source, as this application does, so it needs the TypeScript loader. */
function nodeArguments(limits: Limits): readonly string[] {
  const loader = pathToFileURL(createRequire(import.meta.url).resolve("tsx"));
  const preload = new URL("./preload.mjs", import.meta.url);
  const program = new URL("./main.ts", import.meta.url);
  return [
    `--max-old-space-size=${limits.heapMegabytes}`,
    ...["--import", preload.href],
    ...["--import", loader.href],
    fileURLToPath(program),
  ];
}

/** Nothing of this process's environment but where temporary files go: no credentials, no NODE_OPTIONS. */
function childEnvironment(): NodeJS.ProcessEnv {
  const { TMPDIR } = process.env;
  return { TZ: "UTC", ...(TMPDIR === undefined ? {} : { TMPDIR }) };
}
