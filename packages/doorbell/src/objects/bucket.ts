// The object store as the rest of Doorbell knows it: immutable bytes under (tenant, key), verified on every read.
// Owns the names, the hashes, the limits and the errors; a driver only moves bytes.
//
// A name in the store is made of hashes of tenant and key, so any key of a user ("..", "/", "%2F", 1,024 bytes) is just
// a key: it cannot leave the root or reach another tenant. Each object is two entries: its bytes, and a small record of
// who it belongs to and what it is. The record is written last and decides: an object exists if it has one.
//
// An object is read and written as a whole, in memory, as handlers take it; maxBytes bounds that.
import { DoorbellError } from "../core/errors.ts";
import { sha256Hex } from "../core/hash.ts";
import { assertStorableText } from "../core/json.ts";
import { requireTenant } from "../core/tenant.ts";
import { cutToBytes } from "../core/text.ts";
import type { BucketCapabilities, BucketDriver } from "./driver.ts";

/** What is known of an object that has been stored. */
export interface StoredObject {
  readonly key: string;
  /** In bytes. */
  readonly size: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

export type ObjectSource = Uint8Array | AsyncIterable<Uint8Array>;

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
    const bytes = await collect(source, options.maxBytes ?? objectMaxBytes, key);
    const object: StoredObject = { key, size: bytes.length, sha256: sha256Hex(bytes) };
    const before = await this.#record(names);
    if (before !== null) assertSame(before, object);
    // Also when the record is there: bytes that were lost since come back with the upload that is sent again.
    await this.#call("put", key, () => this.#driver.put(names.bytes(object.sha256), bytes));
    if (before === null) {
      const record = new TextEncoder().encode(JSON.stringify({ tenant, ...object }));
      const created = await this.#call("put", key, () => this.#driver.put(names.record, record));
      if (!created) assertSame(await this.#requireRecord(names), object);
    }
    return object;
  }

  /**
   * The bytes, after their size and hash have been compared with the record, and with what the caller expects.
   * Throws object_missing or object_mismatch; neither gets better by itself.
   */
  async get(
    tenant: string,
    key: string,
    options: { readonly expect?: { readonly sha256?: string; readonly size?: number } } = {},
  ): Promise<Uint8Array> {
    const names = namesOf(tenant, key);
    const { size, sha256 } = await this.#requireRecord(names);
    const { expect = {} } = options;
    if ((expect.size ?? size) !== size || (expect.sha256 ?? sha256) !== sha256) {
      throw new DoorbellError(
        "object_mismatch",
        `object ${shown(key)} is ${size} bytes with sha256 ${sha256}, not what was expected (${expect.size ?? "any"} bytes, sha256 ${expect.sha256 ?? "any"})`,
      );
    }
    const bytes = await this.#call("get", key, () => this.#driver.get(names.bytes(sha256), size));
    if (bytes === null) throw new DoorbellError("object_missing", `the bytes of object ${shown(key)} are gone`);
    if (bytes.length !== size || sha256Hex(bytes) !== sha256) {
      throw new DoorbellError("object_mismatch", `the bytes of object ${shown(key)} are not those that were stored`);
    }
    return bytes;
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
        const bytes = await this.#call("get", path, () => this.#driver.get(path, recordMaxBytes));
        const object = bytes === null ? null : parseRecord(bytes, tenant, path);
        if (object === null) damaged += 1;
        else if (objects.push(object) === options.limit) break;
      }
    }
    return { objects, damaged };
  }

  async close(): Promise<void> {
    await this.#driver.close();
  }

  async #requireRecord(names: ObjectNames): Promise<StoredObject> {
    const record = await this.#record(names);
    if (record === null) throw new DoorbellError("object_missing", `there is no object ${shown(names.key)}`);
    return record;
  }

  async #record(names: ObjectNames): Promise<StoredObject | null> {
    const bytes = await this.#call("get", names.key, () => this.#driver.get(names.record, recordMaxBytes));
    if (bytes === null) return null;
    const record = parseRecord(bytes, names.tenant, names.record);
    if (record !== null) return record;
    throw new DoorbellError("object_mismatch", `the record of object ${shown(names.key)} is damaged`);
  }

  async #call<T>(verb: string, key: string, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (cause) {
      const message = `${this.name} bucket could not ${verb} object ${shown(key)}`;
      throw new DoorbellError("objects_unavailable", message, { cause });
    }
  }
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

/** All bytes of the source, in an array of our own: what is hashed is what is written, whatever the caller does next. */
async function collect(source: ObjectSource, maxBytes: number, key: string): Promise<Uint8Array> {
  const tooLarge = () => new DoorbellError("object_too_large", `object ${shown(key)} is larger than ${maxBytes} bytes`);
  if (source instanceof Uint8Array) {
    if (source.length > maxBytes) throw tooLarge();
    return new Uint8Array(source);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of source) {
    if (!(chunk instanceof Uint8Array)) throw new DoorbellError("option_invalid", "an object source gave no bytes");
    size += chunk.length;
    if (size > maxBytes) throw tooLarge();
    chunks.push(new Uint8Array(chunk));
  }
  return Buffer.concat(chunks, size);
}

function shown(key: string): string {
  return cutToBytes(JSON.stringify(key), 200);
}
