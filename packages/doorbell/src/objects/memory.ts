// `memory:` — objects in this process only. For tests and first steps; production refuses it (not durable).
import type { BucketDriver } from "./driver.ts";

export function memoryDriver(): BucketDriver {
  const entries = new Map<string, Uint8Array>();
  return {
    name: "memory",
    capabilities: { durable: false },
    async put(path, bytes) {
      if (entries.has(path)) return false;
      entries.set(path, new Uint8Array(bytes));
      return true;
    },
    async get(path, maxBytes) {
      return entries.get(path)?.slice(0, maxBytes + 1) ?? null;
    },
    async list(folder, after, max) {
      const below = [...entries.keys()].filter((path) => path.startsWith(`${folder}/`) && path > after);
      return below.sort().slice(0, max);
    },
    async close() {
      entries.clear();
    },
  };
}
