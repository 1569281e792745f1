// The program of the child process: reads documents from standard input, one after the other, and answers each. Ends
// when its input ends, that is with its parent. It knows nothing of accounts, jobs or the database, and has no network.
import { writeSync } from "node:fs";
import process from "node:process";
import { Worker } from "node:worker_threads";
import { type Extraction, rejectedExtraction } from "../extraction.ts";
import type { Limits } from "../limits.ts";
import { readDocument } from "../read-document.ts";
import { rejectionSentence } from "../rejection.ts";
import { readFrames } from "./frames.ts";
import { refuseNetwork } from "./no-network.ts";
import { type Answer, answerFd } from "./protocol.ts";

const limits = JSON.parse(process.argv[2] ?? "") as Limits;

refuseNetwork();
watch();
answer({ type: "ready" });
for await (const document of readFrames(process.stdin)) answer(await answerFor(document));
process.exit(0);

async function answerFor(document: Uint8Array): Promise<Answer> {
  try {
    const today = new Date().toISOString().slice(0, 10);
    const extraction = bounded(await readDocument(document, limits, today));
    return { type: "extraction", extraction, heldBytes: process.memoryUsage.rss() };
  } catch (error) {
    return { type: "fault", message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

function bounded(extraction: Extraction): Extraction {
  const outputBytes = Buffer.byteLength(JSON.stringify(extraction));
  if (outputBytes <= limits.outputBytes) return extraction;
  const message = rejectionSentence("limit_output", `${outputBytes} bytes`);
  return rejectedExtraction(extraction.kind, { code: "limit_output", message });
}

function answer(value: Answer): void {
  const line = Buffer.from(`${JSON.stringify(value)}\n`);
  for (let written = 0; written < line.length; ) written += writeSync(answerFd, line, written);
}

function watch(): void {
  const watchdog = new Worker(new URL("./watchdog.mjs", import.meta.url), {
    execArgv: [],
    workerData: { parentPid: process.ppid, rssMaxBytes: limits.rssMegabytes * 1024 * 1024, answerFd },
  });
  watchdog.unref();
}
