// `memory:` — objects in this process only. For tests and first steps; production refuses it (not durable).
import { contentOf } from "./content.ts";
import type { BucketDriver } from "./driver.ts";

export function memoryDriver(): BucketDriver {
  const entries = new Map<string, Uint8Array>();
  return {
    name: "memory",
    capabilities: { durable: false },
    async put(path, content) {
      const bytes = new Uint8Array(content.size);
      let filled = 0;
      for await (const piece of content.pieces()) {
        bytes.set(piece, filled);
        filled += piece.length;
      }
      if (entries.has(path)) return false;
      entries.set(path, bytes);
      return true;
    },
    async get(path) {
      const bytes = entries.get(path);
      return bytes === undefined ? null : contentOf(bytes.slice()).pieces();
    },
    async list(folder, after, max) {
      const below = [...entries.keys()].filter((path) => path.startsWith(`${folder}/`) && path > after);
      return below.sort().slice(0, max);
    },
    async check() {},
    async close() {
      entries.clear();
    },
  };
}
