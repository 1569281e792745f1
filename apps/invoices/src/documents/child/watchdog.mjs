// @ts-check
// A thread of the child that watches it from inside while the main thread is busy with a document: ends the process
// when it holds too much memory, and when its parent is gone, even if the main thread never comes back. Plain
// JavaScript, because a thread starts without the TypeScript loader.
import { writeSync } from "node:fs";
import process from "node:process";
import { workerData } from "node:worker_threads";

const checkEveryMs = 100;

/** @type {{ parentPid: number, rssMaxBytes: number, answerFd: number }} */
const { parentPid, rssMaxBytes, answerFd } = workerData;

setInterval(() => {
  if (process.ppid !== parentPid) process.kill(process.pid, "SIGKILL");
  if (process.memoryUsage.rss() > rssMaxBytes) {
    writeSync(answerFd, `${JSON.stringify({ type: "limit", code: "limit_memory" })}\n`);
    process.kill(process.pid, "SIGKILL");
  }
}, checkEveryMs);
