// The object store as the rest of Doorbell knows it: immutable bytes under (tenant, key), verified on every read.
// Owns the names, the hashes, the limits and the errors; a driver only moves bytes.
//
// A name in the store is made of hashes of tenant and key, so any key of a user ("..", "/", "%2F", 1,024 bytes) is just
// a key: it cannot leave the root or reach another tenant. Each object is two entries: its bytes, and a small record of
// who it belongs to and what it is. The record is written last and decides: an object exists if it has one.
//
// Bytes come and go in pieces: memory does not grow with objects, but for `get`, which gives all of one as handlers take
// it. maxBytes bounds what is stored.
import { createHash } from "node:crypto";
import { DoorbellError } from "../core/errors.ts";
import { sha256Hex } from "../core/hash.ts";
import { assertStorableText } from "../core/json.ts";
import { requireTenant } from "../core/tenant.ts";
import { cutToBytes } from "../core/text.ts";
import { type Content, contentOf, type ObjectSource, withContent } from "./content.ts";
import type { BucketCapabilities, BucketDriver } from "./driver.ts";

export type { ObjectSource } from "./content.ts";

/** What is known of an object that has been stored. */
export interface StoredObject {
  readonly key: string;
  /** In bytes. */
  readonly size: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

/** What a reader may ask for beside the object. */
export interface ReadOptions {
  /** Anything else is object_mismatch, before a byte of it was read. */
  readonly expect?: { readonly sha256?: string; readonly size?: number };
  /** When it aborts, reading rejects with its reason. */
  readonly signal?: AbortSignal;
}

/** The most that is stored under one key unless the caller says otherwise. */
export const objectMaxBytes: number = 64 * 1_024 * 1_024;
const keyMaxBytes = 1_024;
const recordMaxBytes = 16_384;
/** Paths that are asked for at once. */
const listPage = 1_000;

/** The key under which equal bytes are one object: `sha256/<hex>`. */
export function contentKey(bytes: Uint8Array): string {
  return `sha256/${sha256Hex(bytes)}`;
}

export class Bucket {
  readonly #driver: BucketDriver;

  constructor(driver: BucketDriver) {
    this.#driver = driver;
  }

  get name(): string {
    return this.#driver.name;
  }

  get capabilities(): BucketCapabilities {
    return this.#driver.capabilities;
  }

  /**
   * Stores the bytes under the key, for good. The same bytes again: the same answer. Other bytes: object_conflict, and
   * nothing has changed. More than maxBytes: object_too_large, and the source is read no further. Concurrent puts of
   * one key agree on one of them. What the source throws is passed on as it is.
   */
  async put(
    tenant: string,
    key: string,
    source: ObjectSource,
    options: { readonly maxBytes?: number } = {},
  ): Promise<StoredObject> {
    const names = namesOf(tenant, key);
    const { maxBytes = objectMaxBytes } = options;
    const tooLarge = () =>
      new DoorbellError("object_too_large", `object ${shown(key)} is larger than ${maxBytes} bytes`);
    return await withContent(source, { maxBytes, tooLarge }, (content) => this.#store(names, content));
  }

  /** The bytes, all of them in memory. Otherwise as `read`. */
  async get(tenant: string, key: string, options: ReadOptions = {}): Promise<Uint8Array> {
    const stored = await this.#expected(namesOf(tenant, key), options);
    const pieces = await this.#open(tenant, stored, options.signal ?? null);
    const bytes = new Uint8Array(stored.size);
    let filled = 0;
    for await (const piece of pieces) {
      bytes.set(piece, filled);
      filled += piece.length;
    }
    return bytes;
  }

  /**
   * The bytes in pieces, after their size and hash have been compared with what the caller expects, and while both are
   * compared with the record: the last piece is given only when all of them are those that were stored. Throws
   * object_missing or object_mismatch; neither gets better by itself. Whoever stops early frees the connection.
   */
  async *read(tenant: string, key: string, options: ReadOptions = {}): AsyncGenerator<Uint8Array, void, undefined> {
    const stored = await this.#expected(namesOf(tenant, key), options);
    yield* await this.#open(tenant, stored, options.signal ?? null);
  }

  /** What is stored under the key, or null. Reads the record only. */
  async stat(tenant: string, key: string): Promise<StoredObject | null> {
    return this.#record(namesOf(tenant, key));
  }

  /**
   * The tenant's objects in an order that does not change (not that of their keys): at most `limit`, from behind the key
   * `after`. `damaged` counts the records among them that cannot be read: they hide nothing behind them.
   */
  async list(
    tenant: string,
    options: { readonly after?: string; readonly limit: number },
  ): Promise<{ readonly objects: readonly StoredObject[]; readonly damaged: number }> {
    const folder = folderOf(requireTenant(tenant));
    const objects: StoredObject[] = [];
    let damaged = 0;
    let path = options.after === undefined ? "" : namesOf(tenant, options.after).record;
    for (let page: readonly string[] = [path]; page.length > 0 && objects.length < options.limit; ) {
      page = await this.#call("list", folder, () => this.#driver.list(folder, path, listPage));
      for (path of page) {
        if (path.includes(".")) continue; // bytes, not a record
        const bytes = await this.#call("get", path, () => this.#small(path));
        const object = bytes === null ? null : parseRecord(bytes, tenant, path);
        if (object === null) damaged += 1;
        else if (objects.push(object) === options.limit) break;
      }
    }
    return { objects, damaged };
  }

  /** Rejects with objects_unavailable or option_invalid if nothing can be stored and read now. */
  async check(): Promise<void> {
    try {
      await this.#driver.check();
    } catch (cause) {
      throw operating(cause, `${this.name} bucket cannot be used`);
    }
  }

  async close(): Promise<void> {
    await this.#driver.close();
  }

  async #store(names: ObjectNames, content: Content): Promise<StoredObject> {
    const object: StoredObject = { key: names.key, size: content.size, sha256: content.sha256 };
    const before = await this.#record(names);
    if (before !== null) assertSame(before, object);
    // Also when the record is there: bytes that were lost since come back with the upload that is sent again.
    await this.#call("put", names.key, () => this.#driver.put(names.bytes(object.sha256), content));
    if (before === null) {
      const record = contentOf(new TextEncoder().encode(JSON.stringify({ tenant: names.tenant, ...object })));
      const created = await this.#call("put", names.key, () => this.#driver.put(names.record, record));
      if (!created) assertSame(await this.#requireRecord(names), object);
    }
    return object;
  }

  async #expected(names: ObjectNames, { expect = {}, signal }: ReadOptions): Promise<StoredObject> {
    signal?.throwIfAborted();
    const stored = await this.#requireRecord(names);
    const { size, sha256 } = stored;
    if ((expect.size ?? size) === size && (expect.sha256 ?? sha256) === sha256) return stored;
    throw new DoorbellError(
      "object_mismatch",
      `object ${shown(names.key)} is ${size} bytes with sha256 ${sha256}, not what was expected (${expect.size ?? "any"} bytes, sha256 ${expect.sha256 ?? "any"})`,
    );
  }

  async #open(tenant: string, stored: StoredObject, signal: AbortSignal | null): Promise<AsyncGenerator<Uint8Array>> {
    const path = namesOf(tenant, stored.key).bytes(stored.sha256);
    const pieces = await this.#call("get", stored.key, () => this.#driver.get(path, signal), signal);
    if (pieces === null) throw new DoorbellError("object_missing", `the bytes of object ${shown(stored.key)} are gone`);
    return this.#verified(stored, pieces, signal);
  }

  /** The last piece is held back until the hash of all is known. */
  async *#verified(
    { key, size, sha256 }: StoredObject,
    pieces: AsyncIterable<Uint8Array>,
    signal: AbortSignal | null,
  ): AsyncGenerator<Uint8Array> {
    const mismatch = () =>
      new DoorbellError("object_mismatch", `the bytes of object ${shown(key)} are not those that were stored`);
    const hash = createHash("sha256");
    let seen = 0;
    let last: Uint8Array | null = null;
    for await (const piece of this.#coming(key, pieces, signal)) {
      if (piece.length === 0) continue;
      seen += piece.length;
      if (seen > size) throw mismatch();
      hash.update(piece);
      if (last !== null) yield last;
      last = piece;
    }
    if (seen !== size || hash.digest("hex") !== sha256) throw mismatch();
    if (last !== null) yield last;
  }

  /** Tells what the driver throws from what the reader does with a piece. */
  async *#coming(
    key: string,
    pieces: AsyncIterable<Uint8Array>,
    signal: AbortSignal | null,
  ): AsyncGenerator<Uint8Array> {
    try {
      for await (const piece of pieces) {
        signal?.throwIfAborted();
        yield piece;
      }
    } catch (cause) {
      signal?.throwIfAborted();
      throw this.#failed("get", key, cause);
    }
  }

  async #requireRecord(names: ObjectNames): Promise<StoredObject> {
    const record = await this.#record(names);
    if (record === null) throw new DoorbellError("object_missing", `there is no object ${shown(names.key)}`);
    return record;
  }

  async #record(names: ObjectNames): Promise<StoredObject | null> {
    const bytes = await this.#call("get", names.key, () => this.#small(names.record));
    if (bytes === null) return null;
    const record = parseRecord(bytes, names.tenant, names.record);
    if (record !== null) return record;
    throw new DoorbellError("object_mismatch", `the record of object ${shown(names.key)} is damaged`);
  }

  /** An entry that should be small. Of one that is not, enough to see that. */
  async #small(path: string): Promise<Uint8Array | null> {
    const pieces = await this.#driver.get(path, null);
    if (pieces === null) return null;
    const read: Uint8Array[] = [];
    let size = 0;
    for await (const piece of pieces) {
      read.push(piece);
      size += piece.length;
      if (size > recordMaxBytes) break;
    }
    return Buffer.concat(read, size);
  }

  async #call<T>(verb: string, key: string, call: () => Promise<T>, signal: AbortSignal | null = null): Promise<T> {
    try {
      return await call();
    } catch (cause) {
      signal?.throwIfAborted();
      throw this.#failed(verb, key, cause);
    }
  }

  #failed(verb: string, key: string, cause: unknown): DoorbellError {
    return operating(cause, `${this.name} bucket could not ${verb} object ${shown(key)}`);
  }
}

function operating(cause: unknown, message: string): DoorbellError {
  return DoorbellError.isInstance(cause) ? cause : new DoorbellError("objects_unavailable", message, { cause });
}

interface ObjectNames {
  readonly tenant: string;
  readonly key: string;
  readonly record: string;
  /** The hash of the content is part of the name, so that of two racing uploads neither can spoil the other's bytes. */
  readonly bytes: (sha256: string) => string;
}

function namesOf(tenant: string, key: string): ObjectNames {
  requireTenant(tenant);
  if (key === "") throw new DoorbellError("key_invalid", "object key is empty");
  assertStorableText(key, { name: "object key", maxBytes: keyMaxBytes, code: "key_invalid" });
  const keyHash = sha256Hex(key);
  // The two characters in between keep directories small where entries are files.
  const record = `${folderOf(tenant)}/${keyHash.slice(0, 2)}/${keyHash}`;
  return { tenant, key, record, bytes: (sha256) => `${record}.${sha256}` };
}

/** All of a tenant's entries are below it. */
function folderOf(tenant: string): string {
  return sha256Hex(tenant);
}

/** The record of this path, or null: it is damaged, or was copied there by hand from another tenant or key. */
function parseRecord(bytes: Uint8Array, tenant: string, path: string): StoredObject | null {
  try {
    const { tenant: owner, key, size, sha256 } = JSON.parse(new TextDecoder().decode(bytes));
    const stored = owner === tenant && namesOf(tenant, key).record === path;
    return stored && Number.isSafeInteger(size) && /^[0-9a-f]{64}$/.test(sha256) ? { key, size, sha256 } : null;
  } catch {
    return null; // what cannot be read is as wrong as what says something else
  }
}

function assertSame(stored: StoredObject, offered: StoredObject): void {
  if (stored.sha256 === offered.sha256) return;
  throw new DoorbellError(
    "object_conflict",
    `object ${shown(stored.key)} exists with other bytes (sha256 ${stored.sha256}, offered ${offered.sha256}); objects are immutable`,
  );
}

function shown(key: string): string {
  return cutToBytes(JSON.stringify(key), 200);
}
