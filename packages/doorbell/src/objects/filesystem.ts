// `file:DIR` — objects as files under one directory, shared by all processes that mount it.
// Owns how an entry becomes visible: written to a temporary file, flushed, and linked to its name, which fails if the
// name is taken. So no reader ever sees part of an entry and no writer ever replaces one. Needs a file system with hard
// links; that is tried when the bucket is opened, not when the first upload fails.
import { randomUUID } from "node:crypto";
import { type FileHandle, link, mkdir, open, readdir, stat, unlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { contentOf, piecesOf } from "./content.ts";
import type { BucketDriver } from "./driver.ts";

const PATH = /^[0-9a-f]+(?:\/[0-9a-f]+)*(?:\.[0-9a-f]+)?$/;
/** A temporary file of this age belongs to a process that died while it wrote. */
const abandonedMs = 24 * 3_600_000;

/** Opens the directory, making it if need be. Throws what the file system says if it cannot be used. */
export async function openFilesystemDriver(directory: string): Promise<BucketDriver> {
  const root = resolve(directory);
  const temporary = join(root, "tmp");
  await mkdir(temporary, { recursive: true });
  await flushDirectory(dirname(root));
  await removeAbandoned(temporary);
  await tryHardLinks(temporary);

  return {
    name: "file",
    capabilities: { durable: true },
    async put(path, content) {
      const target = join(root, checked(path));
      const draft = join(temporary, randomUUID());
      try {
        await writeDurably(draft, content.pieces());
        await mkdir(dirname(target), { recursive: true });
        const created = await linkUnlessTaken(draft, target);
        // Also when it was there already: whoever made it may not have come this far.
        await flushNames(dirname(target), root);
        return created;
      } finally {
        await removeIfThere(draft);
      }
    },
    async get(path) {
      return await readPieces(join(root, checked(path)));
    },
    async list(folder, after, max) {
      const paths: string[] = [];
      for await (const path of below(root, checked(folder), after)) {
        if (paths.push(path) === max) break;
      }
      return paths;
    },
    async check() {
      await tryHardLinks(temporary);
    },
    async close() {},
  };
}

/** Bucket makes only such paths; anything else is a mistake of ours that must not reach the file system. */
function checked(path: string): string {
  if (!PATH.test(path)) throw new Error(`not a path of a bucket: ${JSON.stringify(path)}`);
  return path;
}

async function writeDurably(file: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const handle = await open(file, "wx");
  try {
    for await (const piece of pieces) await handle.writeFile(piece);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function linkUnlessTaken(file: string, name: string): Promise<boolean> {
  try {
    await link(file, name);
    return true;
  } catch (error) {
    if (hasCode(error, "EEXIST")) return false;
    throw error;
  }
}

/** Makes the names on the way from the root durable. A directory that has not changed costs next to nothing. */
async function flushNames(directory: string, root: string): Promise<void> {
  await flushDirectory(directory);
  if (directory !== root) await flushNames(dirname(directory), root);
}

async function flushDirectory(directory: string): Promise<void> {
  // Windows has no way to flush a directory.
  if (process.platform === "win32") return;
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function readPieces(file: string): Promise<AsyncIterable<Uint8Array> | null> {
  try {
    return closedAfter(await open(file, "r"));
  } catch (error) {
    if (hasCode(error, "ENOENT")) return null;
    throw error;
  }
}

async function* closedAfter(handle: FileHandle): AsyncGenerator<Uint8Array> {
  try {
    yield* piecesOf(handle);
  } finally {
    await handle.close();
  }
}

/** Entries of a folder in order, one directory at a time. What comes before `after` is not opened. */
async function* below(root: string, folder: string, after: string): AsyncGenerator<string> {
  const entries = await readdir(join(root, folder), { withFileTypes: true }).catch((error: unknown) => {
    if (hasCode(error, "ENOENT")) return [];
    throw error;
  });
  const isFolder = new Map(entries.map((entry) => [`${folder}/${entry.name}`, entry.isDirectory()]));
  for (const path of [...isFolder.keys()].sort()) {
    if (isFolder.get(path) === false) {
      if (path > after) yield path;
    } else if (path >= after.slice(0, path.length)) yield* below(root, path, after);
  }
}

async function tryHardLinks(temporary: string): Promise<void> {
  const file = join(temporary, randomUUID());
  const name = join(temporary, randomUUID());
  try {
    await writeDurably(file, contentOf(new Uint8Array()).pieces());
    await linkUnlessTaken(file, name);
  } finally {
    await removeIfThere(name);
    await removeIfThere(file);
  }
}

async function removeAbandoned(temporary: string): Promise<void> {
  for (const name of await readdir(temporary)) {
    const file = join(temporary, name);
    const found = await stat(file).catch(() => null);
    if (found !== null && Date.now() - found.mtimeMs > abandonedMs) await removeIfThere(file);
  }
}

async function removeIfThere(file: string): Promise<void> {
  try {
    await unlink(file);
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
