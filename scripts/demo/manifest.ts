// A folder of documents with a manifest.json that lists them and their right answers. Read before anything is brought up,
// so that a wrong folder is told at once.
import { readFile, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { ManifestEntry } from "../../apps/invoices/test/documents/score.ts";
import { UsageError } from "./demo-error.ts";

export interface ManifestFile {
  /** As the manifest calls it. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

export interface Manifest {
  /** In the order of the entries. */
  readonly files: readonly ManifestFile[];
  readonly entries: readonly ManifestEntry[];
}

/** Throws UsageError, which says what is wrong with the folder. */
export async function readManifest(documents: string): Promise<Manifest> {
  const folder = resolve(documents);
  const found = await stat(folder).catch(() => null);
  if (found?.isDirectory() !== true) throw new UsageError(`--documents: there is no folder ${folder}`);
  const path = join(folder, "manifest.json");
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    throw new UsageError(`--documents: ${folder} has no manifest.json that can be read (${messageOf(error)})`);
  });
  const entries = parseEntries(text, path);
  const files = await Promise.all(
    entries.map(async ({ file }): Promise<ManifestFile> => {
      const bytes = await readFile(join(folder, file)).catch((error: unknown) => {
        throw new UsageError(`--documents: ${path} names ${file}, which cannot be read (${messageOf(error)})`);
      });
      return { name: file, bytes: new Uint8Array(bytes) };
    }),
  );
  return { files, entries };
}

function parseEntries(text: string, path: string): readonly ManifestEntry[] {
  let entries: unknown;
  try {
    entries = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`--documents: ${path} is not JSON (${messageOf(error)})`);
  }
  if (!Array.isArray(entries) || !entries.every(isEntry)) {
    throw new UsageError(`--documents: ${path} is not a list of {"file", "kind", "expected": {…}}`);
  }
  if (entries.length === 0) throw new UsageError(`--documents: ${path} names no documents`);
  return entries;
}

function isEntry(value: unknown): value is ManifestEntry {
  const { file, kind, expected } = (value ?? {}) as Partial<Record<keyof ManifestEntry, unknown>>;
  return typeof file === "string" && typeof kind === "string" && typeof expected === "object" && expected !== null;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
