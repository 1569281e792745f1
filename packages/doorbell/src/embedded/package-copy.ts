// What is done to the files of a binaries package: the symbolic links that npm cannot pack, and the copy for a server's
// user who cannot read the original. A copy gets its final name when it is complete, as several processes may want it.
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { basename, dirname, join, relative } from "node:path";

/** An install script of the package creates these links, unless install scripts are disabled. */
export function createMissingLinks(packageDir: string): void {
  const list = readFileSync(join(packageDir, "native", "pg-symlinks.json"), "utf8");
  for (const { source, target } of JSON.parse(list) as readonly { source: string; target: string }[]) {
    const link = join(packageDir, target);
    if (existsSync(link)) continue;
    try {
      symlinkSync(relative(dirname(target), source), link);
    } catch (error) {
      // Another process may be doing the same.
      if (!existsSync(link)) throw error;
    }
  }
}

/** Returns the folder of a complete copy that every OS user can read, made now or earlier. */
export function copyPackage(packageDir: string, parent: string): string {
  const manifest = readFileSync(join(packageDir, "package.json"), "utf8");
  const { name, version } = JSON.parse(manifest) as { readonly name: string; readonly version: string };
  const copy = join(parent, `${basename(name)}-${version}`);
  if (isCompleteCopy(packageDir, copy)) return copy;

  const staged = mkdtempSync(`${copy}.new-`);
  try {
    cpSync(join(packageDir, "native"), join(staged, "native"), { recursive: true, verbatimSymlinks: true });
    spawnSync("chmod", ["-R", "u+w,a+rX", staged]);
    createMissingLinks(staged);
    // What is there is incomplete, or we would not be here: a cleaner of temporary files has been at it.
    rmSync(copy, { recursive: true, force: true });
    renameSync(staged, copy);
  } catch (error) {
    rmSync(staged, { recursive: true, force: true });
    // Another process may have put its own copy there in the meantime.
    if (!isCompleteCopy(packageDir, copy)) throw error;
  }
  return copy;
}

function isCompleteCopy(packageDir: string, copy: string): boolean {
  const original = join(packageDir, "native");
  return readdirSync(original, { recursive: true, encoding: "utf8" }).every((path) => {
    const [before, after] = [
      statSync(join(original, path)),
      statSync(join(copy, "native", path), { throwIfNoEntry: false }),
    ];
    return before.isFile() ? before.size === after?.size : after?.isDirectory() === true;
  });
}
