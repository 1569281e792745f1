// What the machine is, and how much processor time it has spent: the server's share, and everybody's.
// Read from /proc, so only on Linux and only for a server on this machine; elsewhere the answer is null.

import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism, cpus, release, totalmem, type } from "node:os";

/** The unit of the counters in /proc: 1/100 s on every Linux that Node runs on. */
const tickMs = 10;

export interface MachineDescription {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly system: string;
}

export function describeMachine(): MachineDescription {
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
  };
}

/** The process that all backends are children of; null if it cannot be seen from here. */
export function postmasterOf(backendPid: number): number | null {
  return readStat(backendPid)?.parent ?? null;
}

/** Processor time of the server so far: the postmaster, its children, and those that have ended. */
export function serverCpuMs(postmaster: number): number | null {
  const own = readStat(postmaster);
  if (own === null) return null;
  const children = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const living = children.map((name) => readStat(Number(name))).filter((stat) => stat?.parent === postmaster);
  return own.cpuMs + own.endedChildrenCpuMs + living.reduce((sum, stat) => sum + (stat?.cpuMs ?? 0), 0);
}

/** Processor time that anybody on this machine has used so far. */
export function machineCpuMs(): number | null {
  const line = readProc("stat")?.split("\n", 1)[0];
  if (line === undefined) return null;
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0] = line.split(/\s+/).slice(1).map(Number);
  return (user + nice + system + irq + softIrq) * tickMs;
}

interface ProcessStat {
  readonly parent: number;
  readonly cpuMs: number;
  readonly endedChildrenCpuMs: number;
}

function readStat(pid: number): ProcessStat | null {
  const text = readProc(`${pid}/stat`);
  if (text === null) return null;
  // The second field is the program's name in parentheses and may hold spaces; what follows it does not.
  const fields = text
    .slice(text.lastIndexOf(")") + 2)
    .split(" ")
    .map(Number);
  const [, parent = 0, , , , , , , , , , user = 0, system = 0, childUser = 0, childSystem = 0] = fields;
  return { parent, cpuMs: (user + system) * tickMs, endedChildrenCpuMs: (childUser + childSystem) * tickMs };
}

function readProc(path: string): string | null {
  try {
    return readFileSync(`/proc/${path}`, "utf8");
  } catch {
    return null;
  }
}
