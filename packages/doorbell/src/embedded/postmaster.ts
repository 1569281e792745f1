// What can be known of a server from outside, by its lock file and the process table: whether one runs on a cluster,
// who started it, whether it is ready. Never stops a server whose starter may still want it.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** The setting that holds the process id of whoever started the server; it shows in the server's command line. */
export const ownerSetting = "doorbell.owner";

interface Postmaster {
  readonly pid: number;
  /** Null for a server that was started by other means. */
  readonly ownerPid: number | null;
}

const stopPatienceMs = 10_000;
const stopPollMs = 20;

/**
 * Makes sure that no server runs on the cluster. One that has outlived its starter is stopped. Throws when there is one
 * whose starter lives, or which was started by other means.
 */
export async function requireUnused(clusterDir: string): Promise<void> {
  const postmaster = getPostmaster(clusterDir);
  if (postmaster === null) return removeStrayLock(clusterDir);
  const { pid, ownerPid } = postmaster;
  if (ownerPid !== null && commandLineOf(ownerPid) === null) return stopPostmaster(clusterDir, pid);
  const starter = ownerPid === null ? "other means" : `process ${ownerPid}, which is alive`;
  throw new Error(
    `embedded postgres: ${clusterDir} is in use by server process ${pid}, started by ${starter}; ` +
      "use that server, or stop it first, or choose another dataDir",
  );
}

/** Resolves once process `pid` does not serve the cluster any more; at once if it does not now. */
export async function stopPostmaster(clusterDir: string, pid: number): Promise<void> {
  for (const signal of ["SIGINT", "SIGQUIT", "SIGKILL"] as const) {
    const deadline = performance.now() + stopPatienceMs;
    while (performance.now() < deadline) {
      if (getPostmaster(clusterDir)?.pid !== pid) return;
      sendSignal(pid, signal);
      await delay(stopPollMs);
    }
  }
  throw new Error(`embedded postgres: server process ${pid} on ${clusterDir} does not end, not even by SIGKILL`);
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It may have ended since we looked.
    if (commandLineOf(pid) !== null) throw error;
  }
}

/** Whether the server of this very process id accepts connections, and not one that left its lock file behind. */
export function isReady(clusterDir: string, pid: number): boolean {
  const lines = readLock(clusterDir).split("\n");
  return Number(lines[0]) === pid && lines[7]?.trim() === "ready";
}

function getPostmaster(clusterDir: string): Postmaster | null {
  const pid = Number.parseInt(readLock(clusterDir), 10);
  const commandLine = Number.isNaN(pid) ? null : commandLineOf(pid);
  if (commandLine === null || !/(^|\/)(postgres|postmaster)\b/.test(commandLine)) return null;
  const owner = commandLine.match(new RegExp(`${ownerSetting}=(\\d+)`))?.[1];
  return { pid, ownerPid: owner === undefined ? null : Number(owner) };
}

/**
 * After a crash the process id in the lock file may have passed to any process: always so when a container starts
 * anew. Postgres would take that process for a server and refuse to start.
 */
function removeStrayLock(clusterDir: string): void {
  const lock = readLock(clusterDir);
  // An empty one is being written; one that changes between two looks belongs to a server that has just started.
  if (lock === "" || getPostmaster(clusterDir) !== null || readLock(clusterDir) !== lock) return;
  rmSync(lockPath(clusterDir), { force: true });
}

function lockPath(clusterDir: string): string {
  return join(clusterDir, "postmaster.pid");
}

function readLock(clusterDir: string): string {
  try {
    return readFileSync(lockPath(clusterDir), "utf8");
  } catch (error) {
    if (existsSync(lockPath(clusterDir))) throw error;
    return "";
  }
}

/** Null when there is no such process, also when there is only what a dead one leaves for its parent. */
function commandLineOf(pid: number): string | null {
  if (!existsSync("/proc/self/cmdline")) {
    return spawnSync("ps", ["-o", "command=", "-p", String(pid)], { encoding: "utf8" }).stdout.trim() || null;
  }
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim() || null;
  } catch {
    return null;
  }
}
