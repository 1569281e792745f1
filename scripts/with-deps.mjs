// Runs a script of this repository with what it needs: installs the dependencies first if they are missing or older than
// the lockfile. Plain JavaScript without dependencies, because it is what runs before there are any.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const [script, ...args] = process.argv.slice(2);

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Node.js 20.19 or newer is needed; this is ${process.versions.node}.`);
  process.exit(1);
}

const installed = `${root}node_modules/.package-lock.json`;
if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(`${root}package-lock.json`).mtimeMs) {
  console.error("Installing dependencies (npm ci) …");
  const startedAt = Date.now();
  const result = spawnSync("npm", ["ci", "--no-progress"], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  if (result.status !== 0) process.exit(result.status ?? 1);
  console.error(`Dependencies installed in ${Math.round((Date.now() - startedAt) / 1000)} s.`);
}

const child = spawn(process.execPath, ["--import", "tsx", "-C", "doorbell-source", `${root}${script}`, ...args], {
  cwd: root,
  stdio: "inherit",
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => {
  if (signal !== null) process.kill(process.pid, signal);
  process.exit(code ?? 1);
});
