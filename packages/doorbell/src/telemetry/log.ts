// Logs as JSON lines. Owns what a line looks like, how large it may be, and that logging never throws.
// A job's log is an object bound to that job: nothing is looked up in ambient context, so a line that comes late, from a
// promise nobody awaited or an emitter shared by jobs, is the original job's, never another's.
import { type DestinationStream, pino, stdTimeFunctions } from "pino";
import { safeText } from "../core/scrub.ts";
import { utf8Bytes } from "../core/text.ts";
import { type LogFields, toLogFields } from "./fields.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";

const rankedLevels: readonly LogLevel[] = ["debug", "info", "warn", "error"];

/** Fields may be anything: what cannot be written becomes a marker, secrets that can be recognised are taken out. */
export interface Log {
  debug(message: string, fields?: object): void;
  info(message: string, fields?: object): void;
  warn(message: string, fields?: object): void;
  error(message: string, fields?: object): void;
}

export interface LogOptions {
  /** Lines below it are not written. Default: "info". */
  readonly level?: LogLevel | "silent";
  /** Fields of every line, such as the role and the id of the process. */
  readonly base?: object;
  /** Where lines go, each with its line feed. Default: standard output. */
  readonly destination?: { write(line: string): void };
}

const lineMaxBytes = 8_192;
const messageMaxBytes = 2_000;
/** Level, time, punctuation. */
const frameBytes = 100;
const frameNames: readonly string[] = ["level", "time", "message"];

/** The log of a process. Each line has `level`, `time` (ISO 8601, UTC), the base, `message` and its fields: at most 8 KB. */
export function createLog(options: LogOptions = {}): Log {
  const frame = new Set(frameNames);
  const base = toLogFields(options.base, { maxBytes: 1_000, reserved: frame });
  const reserved = new Set([...frameNames, ...Object.keys(base)]);
  const roomBytes = lineMaxBytes - frameBytes - jsonBytes(base);
  const settings = {
    level: options.level ?? "info",
    base,
    messageKey: "message",
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const writer =
    options.destination === undefined ? pino(settings) : pino(settings, options.destination as DestinationStream);

  return eachLevel((level) => (message, fields) => {
    if (!writer.isLevelEnabled(level)) return;
    const text = messageText(message);
    const safe = toLogFields(fields, { maxBytes: roomBytes - jsonBytes(text), reserved });
    try {
      writer[level](safe, text);
    } catch {
      // A destination that is gone must not fail the work that is being told about.
    }
  });
}

/** The job that a line belongs to. */
export interface JobLogContext {
  readonly tenant_id: string;
  readonly job_id: string;
  readonly kind: string;
  readonly attempt: number;
  readonly object_key: string | null;
}

/** A line as it is kept with the job. All of it is bounded, storable and scrubbed. */
export interface JobLogLine extends JobLogContext {
  readonly at: Date;
  readonly level: LogLevel;
  /** Null outside of a stage. */
  readonly stage: string | null;
  readonly message: string;
  readonly fields: LogFields;
}

/** Takes a job's lines, to keep them. */
export interface JobLogSink {
  /** Lines below it are not offered. Default: "info". */
  readonly level?: LogLevel;
  /** Called in the order of the lines. Must return at once: it is called in the middle of handlers. */
  append(line: JobLogLine): void;
}

export interface JobLog extends Log {
  /** The same job's log within a stage. Stages may run side by side: each has a log of its own. */
  withStage(name: string): JobLog;
}

const jobNames = new Set(["tenant_id", "job_id", "kind", "attempt", "stage", "object_key", ...frameNames]);
const jobFieldsMaxBytes = 4_096;
const stageMaxBytes = 100;

/** The log of one attempt of a job. Every line carries tenant_id, job_id, kind, attempt, stage and object_key. */
export function jobLog(log: Log, job: JobLogContext, sink?: JobLogSink): JobLog {
  return stageLog(log, job, null, sink);
}

function stageLog(log: Log, job: JobLogContext, stage: string | null, sink: JobLogSink | undefined): JobLog {
  const { tenant_id, job_id, kind, attempt, object_key } = job;
  const bound = { tenant_id, job_id, kind, attempt, stage, object_key };
  const sinkRank = rankedLevels.indexOf(sink?.level ?? "info");

  const levels = eachLevel((level) => (message, fields) => {
    const text = messageText(message);
    const safe = toLogFields(fields, { maxBytes: jobFieldsMaxBytes, reserved: jobNames });
    log[level](text, { ...bound, ...safe });
    if (sink === undefined || rankedLevels.indexOf(level) < sinkRank) return;
    try {
      sink.append({ ...bound, at: new Date(), level, message: text, fields: safe });
    } catch (error) {
      log.error("a line of a job could not be kept", { ...bound, error });
    }
  });
  return { ...levels, withStage: (name) => stageLog(log, job, safeText(String(name), stageMaxBytes), sink) };
}

type Write = (message: string, fields?: object) => void;

function eachLevel(writeAt: (level: LogLevel) => Write): Log {
  return { debug: writeAt("debug"), info: writeAt("info"), warn: writeAt("warn"), error: writeAt("error") };
}

/** Control characters would take six bytes each in JSON, and a terminal might obey them. */
function messageText(message: unknown): string {
  const text = typeof message === "string" ? message : `[${typeof message}]`;
  return safeText(text, messageMaxBytes).replace(/[^\P{Control}\t\n]/gu, "\u{fffd}");
}

function jsonBytes(value: unknown): number {
  return utf8Bytes(JSON.stringify(value));
}
