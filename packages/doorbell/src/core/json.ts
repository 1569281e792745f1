// The one validator for values on their way to Postgres: payloads, results, effect values, log fields.
// A value either comes back exactly as it went in, or is refused here with its path and a reason; nothing is coerced.
// It writes the text itself, in one walk, so that what was judged is what is stored: a getter is read once.
//
// Exactly means: equal by value. Members may come back in another order (jsonb sorts them), and -0 as 0 (=== cannot
// tell them apart, and jsonb has only one zero).
import { DoorbellError, type ErrorCode } from "./errors.ts";
import { cutToBytes, replaceUnstorable, unstorablePart, utf8Bytes } from "./text.ts";

export interface StorableLimits {
  /** How the value is called in messages: "payload", "result", … */
  readonly path: string;
  readonly maxBytes: number;
}

export interface StorableJson {
  readonly text: string;
  /** Length of the text in bytes of UTF-8. */
  readonly bytes: number;
}

const depthMax = 64;

/**
 * Throws value_not_storable (with the path, as in `payload.items[3].when`) for what JSON or jsonb would change or refuse,
 * payload_too_large above maxBytes. The work is bounded by maxBytes, also for a value that is much larger.
 */
export function toStorableJson(value: unknown, limits: StorableLimits): StorableJson {
  const walk: Walk = { limits, path: [], open: [], out: "" };
  try {
    writeValue(walk, value);
  } catch (error) {
    if (DoorbellError.isInstance(error)) throw error;
    // A getter or a proxy of the value itself threw.
    throw refusal(walk, "cannot be read", error);
  }
  const bytes = utf8Bytes(walk.out);
  if (bytes > limits.maxBytes) throw tooLarge(walk);
  return { text: walk.out, bytes };
}

export interface StorableTextLimits {
  readonly name: string;
  readonly maxBytes: number;
  /** The code of the error: "key_invalid" for keys. Default: "value_not_storable". */
  readonly code?: ErrorCode;
}

/** Throws unless the value is text that Postgres can hold, of at most maxBytes bytes of UTF-8. */
export function assertStorableText(text: unknown, limits: StorableTextLimits): asserts text is string {
  const refuse = (reason: string): never => {
    throw new DoorbellError(limits.code ?? "value_not_storable", `${limits.name} ${reason}`);
  };
  if (typeof text !== "string") return refuse(`is ${nameOfType(text)}, not a string`);
  if (text.length > limits.maxBytes || utf8Bytes(text) > limits.maxBytes) {
    return refuse(`is longer than ${limits.maxBytes} bytes`);
  }
  const part = unstorablePart(text);
  if (part !== null) refuse(`contains ${part}`);
}

interface Walk {
  readonly limits: StorableLimits;
  /** Where the walk stands, from the root. */
  readonly path: (string | number)[];
  /** The objects on that way, to tell a circle from a value that merely occurs twice. */
  readonly open: object[];
  out: string;
}

function writeValue(walk: Walk, value: unknown): void {
  if (typeof value === "string") writeString(walk, value);
  else if (value === null || typeof value === "boolean") write(walk, String(value));
  else if (typeof value === "number") writeNumber(walk, value);
  else if (typeof value === "object") writeObject(walk, value);
  else if (value === undefined) throw refusal(walk, "is undefined: leave it out, or say null");
  else if (typeof value === "bigint") throw refusal(walk, "is a bigint: send it as a string");
  else throw refusal(walk, `is ${nameOfType(value)}`);
}

function writeNumber(walk: Walk, value: number): void {
  if (!Number.isFinite(value)) throw refusal(walk, `is ${value}, which JSON does not have`);
  write(walk, JSON.stringify(value));
}

function writeObject(walk: Walk, value: object): void {
  if (walk.open.includes(value)) throw refusal(walk, "is circular");
  if (walk.open.length >= depthMax) throw refusal(walk, `is nested deeper than ${depthMax} levels`);
  walk.open.push(value);
  if (Array.isArray(value)) writeArray(walk, value);
  else writeMembers(walk, value);
  walk.open.pop();
}

function writeArray(walk: Walk, items: readonly unknown[]): void {
  // The prototype of an array is itself an array, in every realm; that of a subclass is not.
  if (!Array.isArray(Object.getPrototypeOf(items))) throw refusal(walk, "is an instance of a class");
  write(walk, "[");
  for (let index = 0; index < items.length; index += 1) {
    if (index > 0) write(walk, ",");
    walk.path.push(index);
    writeValue(walk, items[index]);
    walk.path.pop();
  }
  write(walk, "]");
  // Holes have been refused as undefined, so every further own key would be lost.
  if (Reflect.ownKeys(items).length !== items.length + 1) throw refusal(walk, "is an array with named properties");
}

function writeMembers(walk: Walk, value: object): void {
  if (!isPlainObject(value)) throw refusal(walk, classReason(value));
  if (Object.getOwnPropertySymbols(value).length > 0) throw refusal(walk, "has a symbol for a key");
  write(walk, "{");
  let first = true;
  for (const key of Object.keys(value)) {
    walk.path.push(key);
    if (key === "__proto__") throw refusal(walk, "is a key that other programs take for a prototype");
    if (!first) write(walk, ",");
    first = false;
    writeString(walk, key);
    write(walk, ":");
    const member: unknown = Reflect.get(value, key);
    if (key === "toJSON" && typeof member === "function") throw refusal(walk, "would replace the object it is on");
    writeValue(walk, member);
    walk.path.pop();
  }
  write(walk, "}");
}

function writeString(walk: Walk, text: string): void {
  if (text.length > walk.limits.maxBytes) throw tooLarge(walk);
  const part = unstorablePart(text);
  if (part !== null) throw refusal(walk, `contains ${part}`);
  write(walk, JSON.stringify(text));
}

function write(walk: Walk, piece: string): void {
  walk.out += piece;
  // Checked at every piece: a small value that mentions itself many times over has an enormous text.
  if (walk.out.length > walk.limits.maxBytes) throw tooLarge(walk);
}

function isPlainObject(value: object): boolean {
  const prototype: object | null = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype) return true;
  // A plain object of another realm (a vm context, a frame).
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, "isPrototypeOf");
}

function classReason(value: object): string {
  if (value instanceof Date) return "is a Date: send value.toISOString()";
  if (value instanceof Map || value instanceof Set) return "is a Map or Set: send an array of its entries";
  if (value instanceof Uint8Array) return "is bytes: put them into the object store and send the key";
  return "is an instance of a class: send a plain object";
}

function nameOfType(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function refusal(walk: Walk, reason: string, cause?: unknown): DoorbellError {
  const options = cause === undefined ? undefined : { cause };
  return new DoorbellError("value_not_storable", `${pathText(walk)} ${reason}`, options);
}

function tooLarge(walk: Walk): DoorbellError {
  const { path, maxBytes } = walk.limits;
  return new DoorbellError("payload_too_large", `${path} is larger than ${maxBytes} bytes of JSON`);
}

function pathText(walk: Walk): string {
  let text = walk.limits.path;
  for (const part of walk.path) {
    if (typeof part === "number") text += `[${part}]`;
    else if (/^[A-Za-z_$][\w$]{0,99}$/.test(part)) text += `.${part}`;
    else text += `[${JSON.stringify(cutToBytes(replaceUnstorable(part), 100))}]`;
  }
  return cutToBytes(text, 1_000);
}
