// From whatever was thrown to a record of it. Recording a failure cannot fail: every function here is total, its work
// and its result are bounded, and the text can be stored and has lost the secrets that can be recognised.
import { sha256Hex } from "./hash.ts";
import { safeText } from "./scrub.ts";
import { cutRoughly, cutToBytes } from "./text.ts";

/** A readable record of something thrown. Every field is storable text, scrubbed and bounded. */
export interface Failure {
  readonly name: string;
  readonly code?: string;
  /** Never empty; at most 4 KB, the causes included. */
  readonly message: string;
  /** Frames only: the message is not repeated here. */
  readonly stack?: string;
}

const nameMaxBytes = 100;
const messageMaxBytes = 4_096;
const stackMaxBytes = 11_000;
const failureMaxBytes = 16_384;
const causesMax = 5;

/** Describes anything that can be thrown or rejected with. Never throws. */
export function describeFailure(thrown: unknown): Failure {
  try {
    return isReadable(thrown) ? describeObject(thrown) : { name: typeOf(thrown), message: describePrimitive(thrown) };
  } catch {
    return { name: "unknown", message: "something was thrown that cannot be read" };
  }
}

/** The failure as one text of at most 16 KB. */
export function failureText(failure: Failure): string {
  const code = failure.code === undefined ? "" : ` [${failure.code}]`;
  const stack = failure.stack === undefined ? "" : `\n${failure.stack}`;
  return cutToBytes(`${failure.name}${code}: ${failure.message}${stack}`, failureMaxBytes);
}

/**
 * Sixteen hex characters that are the same for failures which differ only in ids, numbers, hex and quoted values.
 * The stack takes no part: a deploy moves lines.
 */
export function fingerprint(kind: string, failure: Failure): string {
  const shape = failure.message
    .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, "#")
    .replace(/"[^"\n]{0,300}"|`[^`\n]{0,300}`|(?<!\w)'[^'\n]{0,300}'(?!\w)/g, "#")
    // Words with a digit in them (ids, dates, hex), then hex that happens to have letters only.
    .replace(/\b(?=[a-z_]*\d)\w+/gi, "#")
    .replace(/\b[0-9a-f]{8,}\b/gi, "#")
    .replace(/[-+]?#(?:[-+.,:/]#)*/g, "#");
  return sha256Hex(`${kind}\0${failure.name}\0${failure.code ?? ""}\0${cutToBytes(shape, 1_000)}`).slice(0, 16);
}

function describeObject(thrown: object): Failure {
  const code = read(thrown, "code");
  const stack = framesOf(thrown);
  return {
    name: nameOf(thrown),
    ...(typeof code === "string" || typeof code === "number" ? { code: safeText(String(code), nameMaxBytes) } : {}),
    message: messageWithCauses(thrown),
    ...(stack === null ? {} : { stack }),
  };
}

function messageWithCauses(thrown: object): string {
  const seen = new Set<object>([thrown]);
  let text = messageOf(thrown) ?? `${nameOf(thrown)} was thrown without a message`;
  let next = causeOf(thrown);
  for (let depth = 0; depth < causesMax && next !== undefined && next !== null; depth += 1) {
    if (!isReadable(next)) {
      text += `; caused by ${describePrimitive(next)}`;
      break;
    }
    if (seen.has(next)) break;
    seen.add(next);
    // Who wraps an error often quotes it, without the mark of our SQL: it is not told twice.
    const message = messageOf(next)?.replace(/^doorbell: /, "") ?? "(no message)";
    if (!text.includes(message)) text += `; caused by ${nameOf(next)}: ${message}`;
    next = causeOf(next);
  }
  return safeText(text, messageMaxBytes);
}

/** The cause of an error, or the first of the errors it gathers (AggregateError, as a failed connect throws it). */
function causeOf(thrown: object): unknown {
  const cause = read(thrown, "cause");
  if (cause !== undefined) return cause;
  const gathered = read(thrown, "errors");
  return isReadable(gathered) ? read(gathered, "0") : undefined;
}

/** The message, cut roughly (the exact cut comes last, over the message and its causes), or null where there is none. */
function messageOf(thrown: object): string | null {
  const message = read(thrown, "message");
  if (typeof message !== "string" || message.trim() === "") return null;
  return cutRoughly(message, 2 * messageMaxBytes);
}

function nameOf(thrown: object): string {
  const own = read(thrown, "name");
  if (typeof own === "string" && own !== "") return safeText(own, nameMaxBytes);
  const made = read(thrown, "constructor");
  const name = isReadable(made) ? read(made, "name") : undefined;
  return typeof name === "string" && name !== "" ? safeText(name, nameMaxBytes) : typeOf(thrown);
}

/** The frames of the stack without the message above them, which may be enormous; all of it where no frame is found. */
function framesOf(thrown: object): string | null {
  const stack = read(thrown, "stack");
  if (typeof stack !== "string" || stack === "") return null;
  const firstFrame = stack.indexOf("\n    at ");
  const frames = firstFrame === -1 ? stack : stack.slice(firstFrame + 1);
  return safeText(frames, stackMaxBytes);
}

function describePrimitive(thrown: unknown): string {
  if (thrown === undefined || thrown === null) return `${thrown} was thrown`;
  if (typeof thrown !== "string") return safeText(`${typeof thrown} ${String(thrown)} was thrown`, messageMaxBytes);
  return thrown.trim() === "" ? "an empty string was thrown" : safeText(thrown, messageMaxBytes);
}

function typeOf(value: unknown): string {
  return value === null ? "null" : typeof value;
}

function isReadable(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/** A property of something that may be a proxy, revoked, or full of getters that throw. */
function read(from: object, key: string): unknown {
  try {
    return Reflect.get(from, key);
  } catch {
    return undefined;
  }
}
