// From anything that a caller hands to a log to fields that can be written: plain JSON, scrubbed, bounded.
// Total: what cannot be read or written becomes a marker in its place. Must never throw and never change the original.
import { types } from "node:util";
import { describeFailure } from "../core/failure.ts";
import { hiddenSecret, isSecretName, safeText } from "../core/scrub.ts";
import { cutToBytes, utf8Bytes } from "../core/text.ts";

export type LogValue = string | number | boolean | null | readonly LogValue[] | { readonly [name: string]: LogValue };

export type LogFields = Readonly<Record<string, LogValue>>;

export interface FieldLimits {
  /** For all fields together, as JSON. Fields are taken in their order; one that does not fit becomes a marker. */
  readonly maxBytes: number;
  /** Names that the line itself uses. A field of such a name appears as `field_<name>`: it never replaces the line's. */
  readonly reserved: ReadonlySet<string>;
}

const nameMaxBytes = 100;
const stringMaxBytes = 2_000;
const membersMax = 50;
const depthMax = 4;
/** Values looked at per line, whatever their arrangement. */
const valuesMax = 1_000;

export function toLogFields(fields: unknown, limits: FieldLimits): LogFields {
  if (fields === undefined || fields === null) return {};
  const copied = copy(fields, 0, { valuesLeft: valuesMax });
  if (typeof copied !== "object" || copied === null || Array.isArray(copied)) return fit({ value: copied }, limits);
  return fit(copied as LogFields, limits);
}

function fit(fields: LogFields, limits: FieldLimits): LogFields {
  const fitting: [string, LogValue][] = [];
  let bytesLeft = limits.maxBytes;
  for (const [name, value] of Object.entries(fields)) {
    const shownName = limits.reserved.has(name) ? `field_${name}` : name;
    const bytes = jsonBytes(shownName, value);
    const shown = bytes <= bytesLeft ? value : `[left out: ${bytes} bytes]`;
    const shownBytes = jsonBytes(shownName, shown);
    if (shownBytes > bytesLeft) break;
    fitting.push([shownName, shown]);
    bytesLeft -= shownBytes;
  }
  // fromEntries defines members, so that one called __proto__ is a member and nothing else.
  return Object.fromEntries(fitting);
}

function jsonBytes(name: string, value: LogValue): number {
  return utf8Bytes(JSON.stringify(name)) + utf8Bytes(JSON.stringify(value)) + 2;
}

interface Budget {
  valuesLeft: number;
}

function copy(value: unknown, depth: number, budget: Budget): LogValue {
  budget.valuesLeft -= 1;
  if (typeof value === "string") return safeText(value, stringMaxBytes);
  if (typeof value === "boolean" || value === null) return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (typeof value === "bigint") return cutToBytes(String(value), stringMaxBytes);
  if (typeof value !== "object") return `[${typeof value}]`;
  try {
    return copyObject(value, depth, budget);
  } catch {
    return "[unreadable]";
  }
}

function copyObject(value: object, depth: number, budget: Budget): LogValue {
  if (types.isNativeError(value) || value instanceof Error) return copyError(value);
  if (types.isDate(value)) return Number.isNaN(value.getTime()) ? "[invalid date]" : value.toISOString();
  if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)) return `[${value.byteLength} bytes]`;
  if (types.isMap(value) || types.isSet(value)) return `[${types.isMap(value) ? "map" : "set"} of ${value.size}]`;
  if (value instanceof URL) return safeText(value.href, stringMaxBytes);
  if (depth >= depthMax || budget.valuesLeft <= 0) return Array.isArray(value) ? "[array]" : "[object]";
  return Array.isArray(value) ? copyItems(value, depth, budget) : copyMembers(value, depth, budget);
}

/** Shorter than a failure on record: the stack must not take the whole line. */
function copyError(error: unknown): LogValue {
  const { name, code, message, stack } = describeFailure(error);
  return {
    name,
    ...(code === undefined ? {} : { code }),
    message: cutToBytes(message, 1_000),
    ...(stack === undefined ? {} : { stack: cutToBytes(stack, 1_500) }),
  };
}

function copyItems(items: readonly unknown[], depth: number, budget: Budget): LogValue {
  const copied = items.slice(0, membersMax).map((item) => copy(item, depth + 1, budget));
  const more = items.length - copied.length;
  return more > 0 ? [...copied, `[${more} more]`] : copied;
}

function copyMembers(value: object, depth: number, budget: Budget): LogValue {
  const names = Object.keys(value);
  const entries: [string, LogValue][] = [];
  for (const name of names.slice(0, membersMax)) {
    const member = readMember(value, name);
    if (member === undefined) continue;
    const shown = isSecretName(name) ? hiddenSecret : copy(member, depth + 1, budget);
    entries.push([safeText(name, nameMaxBytes), shown]);
  }
  if (names.length > membersMax) entries.push(["…", `[${names.length - membersMax} more]`]);
  return Object.fromEntries(entries);
}

/** One getter that throws costs its own member, not the whole object. */
function readMember(value: object, name: string): unknown {
  try {
    return Reflect.get(value, name);
  } catch {
    return "[unreadable]";
  }
}
