// Which version of a system the bench runs: what is there, not what was asked for.

import { readFileSync } from "node:fs";

/** The version of a package in the bench's own node_modules. Throws when it is not installed. */
export function installedVersion(packageName: string): string {
  return versionIn(new URL(`../node_modules/${packageName}/`, import.meta.url));
}

/** The version of the package in this folder, whose URL ends in a slash. */
export function versionIn(folder: URL): string {
  const manifest = readFileSync(new URL("package.json", folder), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
