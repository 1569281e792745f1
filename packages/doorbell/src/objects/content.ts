// What is about to be stored: known in full, by size and hash, before the first byte of it leaves, because the hash is
// part of its name. A source that gives more than a few megabytes is kept in a temporary file meanwhile, so that memory
// does not grow with objects. The file has no name: it is gone when it is closed, also if the process dies.
import { createHash, randomUUID } from "node:crypto";
import { type FileHandle, open, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DoorbellError } from "../core/errors.ts";
import { sha256Hex } from "../core/hash.ts";

export type ObjectSource = Uint8Array | AsyncIterable<Uint8Array>;

export interface Content {
  /** In bytes. */
  readonly size: number;
  /** Lower-case hex. */
  readonly sha256: string;
  /** All of it, where it is held in memory. Not to be changed. */
  readonly bytes: Uint8Array | null;
  /** From the first byte, at each call. */
  pieces(): AsyncIterable<Uint8Array>;
}

/** What a source has given is held in memory up to here. */
export const heldMaxBytes: number = 4 * 1_024 * 1_024;
const pieceBytes = 256 * 1_024;

/** Bytes as they are: not to be changed as long as somebody reads. */
export function contentOf(bytes: Uint8Array): Content {
  return {
    size: bytes.length,
    sha256: sha256Hex(bytes),
    bytes,
    async *pieces() {
      for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
    },
  };
}

/**
 * Takes all bytes of the source, into a place of our own: what is hashed is what is written, whatever the caller does
 * next. Gives them to `use`, and lets go of them after. More than maxBytes: throws `tooLarge()`, and the source is read
 * no further. What the source throws is passed on as it is.
 */
export async function withContent<T>(
  source: ObjectSource,
  limit: { readonly maxBytes: number; readonly tooLarge: () => Error },
  use: (content: Content) => Promise<T>,
): Promise<T> {
  if (source instanceof Uint8Array) {
    if (source.length > limit.maxBytes) throw limit.tooLarge();
    return await use(contentOf(new Uint8Array(source)));
  }
  const store = new Store();
  try {
    for await (const piece of source) {
      if (!(piece instanceof Uint8Array)) throw new DoorbellError("option_invalid", "an object source gave no bytes");
      if (store.size + piece.length > limit.maxBytes) throw limit.tooLarge();
      await store.add(new Uint8Array(piece));
    }
    return await use(store.content());
  } finally {
    await store.close();
  }
}

/** Grows in memory, and from a size on in a file. */
class Store {
  readonly #hash = createHash("sha256");
  #held: Uint8Array[] = [];
  #file: FileHandle | null = null;
  size = 0;

  async add(piece: Uint8Array): Promise<void> {
    this.size += piece.length;
    this.#hash.update(piece);
    this.#held.push(piece);
    if (this.#file === null && this.size <= heldMaxBytes) return;
    try {
      this.#file ??= await openUnnamed();
      for (const held of this.#held) await this.#file.writeFile(held);
    } catch (cause) {
      const message = `a large object could not be kept in the temporary directory (${tmpdir()}) before it is stored`;
      throw new DoorbellError("objects_unavailable", message, { cause });
    }
    this.#held = [];
  }

  content(): Content {
    const file = this.#file;
    if (file === null) return contentOf(Buffer.concat(this.#held, this.size));
    return { size: this.size, sha256: this.#hash.digest("hex"), bytes: null, pieces: () => piecesOf(file) };
  }

  async close(): Promise<void> {
    await this.#file?.close();
  }
}

async function openUnnamed(): Promise<FileHandle> {
  const path = join(tmpdir(), `doorbell-${randomUUID()}`);
  const file = await open(path, "wx+", 0o600);
  await unlink(path);
  return file;
}

/** An open file's bytes from its beginning. Several may read one file at once; none of them closes it. */
export async function* piecesOf(file: FileHandle): AsyncGenerator<Uint8Array> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await file.read(new Uint8Array(pieceBytes), 0, pieceBytes, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
