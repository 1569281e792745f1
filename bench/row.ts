// What a row of the table is: its cases, how they are compared, and the parts of it that run in contenders' processes.
// A row names contenders and asks for processes and databases; it never starts one by itself.

import type { BrokerName } from "../packages/doorbell/test/servers/broker-servers.ts";
import type { Agent } from "./agent/agent.ts";
import type { Contender } from "./contender.ts";
import type { ContenderName } from "./contenders/index.ts";
import type { Better } from "./statistics.ts";

/** What one measurement of one case found. The unit is the end of each name: `p50Ms`, `jobsPerSecond`. */
export type Figures = Readonly<Record<string, number>>;

/** What a row may use while it measures. Everything that it hands out is closed when the measurement ends. */
export interface Stage {
  /** A new process in which parts run with this contender. It loads meanwhile, so ask for it before the database. */
  spawn(contender: ContenderName, options?: SpawnOptions): Agent;
  /**
   * The URL of a queue that nobody has used yet. Its server is started at the first call, and stays until the bench ends.
   * Rejects with NotThere when it cannot be had on this machine.
   */
  freshQueue(broker: BrokerName): Promise<string>;
  /** Drops the contender's database and makes a new one with the contender's schema. */
  freshDatabase(contender: ContenderName): Promise<void>;
  /** Brings the database to rest: statistics fresh, dirty pages written, so that no case pays for the one before. */
  settleDatabase(contender: ContenderName): Promise<void>;
  /** Counters of the server and of the machine; the difference of two samples is what happened between them. */
  sample(): Promise<MachineSample>;
}

export interface SpawnOptions {
  /** What carries doorbells, for a contender that is measured over several. */
  readonly queueUrl?: string;
}

/** Something that a case needs is not on this machine: it is told, and is no failure. */
export class NotThere extends Error {}

/** Counters at one instant. Null where the operating system does not tell. */
export interface MachineSample {
  readonly atMs: number;
  readonly walBytes: number;
  readonly serverCpuMs: number | null;
  readonly machineCpuMs: number | null;
}

/** One line of a row: a contender in one variant of the workload. */
export interface Case {
  readonly contender: ContenderName;
  /** Empty for the plain workload. */
  readonly variant: string;
  measure(stage: Stage): Promise<Figures>;
}

/** Asks how many times better Doorbell's variant `ours` is than variant `theirs` of every other contender. */
export interface Comparison {
  /** The ratio's key is this and the other contender's name: `process/pg-boss`. */
  readonly name: string;
  readonly figure: string;
  readonly better: Better;
  readonly ours: string;
  readonly theirs: string;
}

/** How a figure is shown in the table. */
export interface Column {
  readonly figure: string;
  readonly heading: string;
  readonly digits: number;
}

export interface Row {
  readonly name: string;
  /** One sentence: what is measured, from where to where. */
  readonly title: string;
  /** True: measured only when it is asked for by its name. */
  readonly onRequest?: boolean;
  readonly columns: readonly Column[];
  readonly comparisons: readonly Comparison[];
  readonly parts: readonly Part[];
  cases(quick: boolean): readonly Case[];
}

/** What a part is given, in the contender's process. */
export interface PartContext {
  readonly contender: Contender;
  readonly databaseUrl: string;
  /** Tells the bench's own process that something begins now: it does not wait for an answer. */
  mark(label: string): void;
}

/** A piece of a row that runs in a contender's process. Arguments and result must survive JSON. */
export interface Part<Args = never, Result = unknown> {
  readonly name: string;
  run(context: PartContext, args: Args): Promise<Result>;
}
