// Where a run keeps objects and logs. A temporary one goes with the demo, in whatever way that goes: a shell at the other
// end of a pipe notices, gives the demo's processes the time to end, and removes it.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

export interface RunFolder {
  readonly path: string;
  readonly objects: string;
  readonly logs: string;
  /** Removes it, if it is temporary. */
  close(): void;
}

const janitor = `
trap '' HUP INT TERM PIPE
read -r word
[ "$word" = closed ] && exit
for second in 1 2 3 4 5 6 7 8; do sleep 1; rm -rf "$1"; done
`;

/** Null: a temporary one. */
export function openRunFolder(keep: string | null): RunFolder {
  const path = keep === null ? mkdtempSync(join(tmpdir(), "doorbell-demo-")) : resolve(keep);
  const closeJanitor = keep === null ? watch(path) : () => {};
  const folder = { path, objects: join(path, "objects"), logs: join(path, "logs") };
  for (const part of [folder.objects, folder.logs]) mkdirSync(part, { recursive: true });
  return {
    ...folder,
    close() {
      if (keep === null) rmSync(path, { recursive: true, force: true });
      closeJanitor();
    },
  };
}

function watch(path: string): () => void {
  const shell = spawn("/bin/sh", ["-c", janitor, "sh", path], {
    // Ctrl-C in a terminal is for the demo only.
    detached: true,
    cwd: "/",
    stdio: ["pipe", "ignore", "ignore"],
  });
  shell.unref();
  shell.stdin.on("error", () => {});
  (shell.stdin as unknown as { unref(): void }).unref();
  return () => shell.stdin.end("closed\n");
}
