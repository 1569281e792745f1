// Which version of a package the bench runs: what is installed, not what was asked for.

import { readFileSync } from "node:fs";

/** The version of a package in the bench's own node_modules. Throws when it is not installed. */
export function installedVersion(packageName: string): string {
  const manifest = readFileSync(new URL(`../node_modules/${packageName}/package.json`, import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
