// A folder outside the checkout, for what the server's user cannot reach inside it: a copy of the binaries, and kept
// data. That of root is below /var/lib, which no cleaner of temporary files visits; that of others is a mere cache.
import { chmodSync, lstatSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Creates the folder if need be. Throws when somebody else did so before us: what is in it will be executed. */
export function requireSharedFolder(): string {
  const uid = process.getuid?.() ?? 0;
  const folder = uid === 0 ? "/var/lib/doorbell-postgres" : join(tmpdir(), `doorbell-postgres-${uid}`);
  mkdirSync(folder, { recursive: true });
  const found = lstatSync(folder);
  if (!found.isDirectory() || found.uid !== uid) {
    throw new Error(`embedded postgres: ${folder} belongs to uid ${found.uid}, not to us (uid ${uid}); remove it`);
  }
  chmodSync(folder, 0o755);
  return folder;
}
