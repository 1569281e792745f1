import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import { startEmbeddedPostgres } from "./index.ts";

// Open like /tmp, as the server's user removes its own folder there.
const scratch = mkdtempSync(join(tmpdir(), "embedded-lifeline-"));
chmodSync(scratch, 0o1777);
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const startProgram = `
  const { startEmbeddedPostgres } = await import(process.argv[1]);
  const { dataDir } = await startEmbeddedPostgres({ ...JSON.parse(process.argv[2]), flags: ["-c", "fsync=off"] });
  console.log(dataDir);
`;
const waitProgram = `${startProgram} setInterval(() => {}, 1000);`;

/** Another Node process that starts a server below `scratch`, so that we can take its life. */
function spawnStarter(program: string, options: { readonly dataDir?: string } = {}) {
  const tsx = createRequire(import.meta.url).resolve("tsx");
  const entry = new URL("./index.ts", import.meta.url).href;
  const args = ["--import", tsx, "--input-type=module", "-e", program, entry, JSON.stringify(options)];
  const env = { ...process.env, TMPDIR: scratch };
  const parent = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  return { parent, exited: once(parent, "exit") };
}

async function startElsewhere(program: string, options: { readonly dataDir?: string } = {}) {
  const { parent, exited } = spawnStarter(program, options);
  const dataDir = String((await once(parent.stdout, "data"))[0]).trim();
  const serverPid = Number.parseInt(readFileSync(join(dataDir, "pgdata", "postmaster.pid"), "utf8"), 10);
  return { parent, exited, dataDir, serverPid };
}

function isAlive(pid: number): boolean {
  const state = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" }).stdout.trim();
  return state !== "" && !state.startsWith("Z");
}

/** The processes that stand between a server and its starter: the shell, and its child that holds the line. */
function guardsOf(serverPid: number): readonly number[] {
  const table = spawnSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" }).stdout;
  const pairs = table.split("\n").map((line) => line.trim().split(/\s+/).map(Number));
  const shellPid = pairs.find(([pid]) => pid === serverPid)?.[1];
  const family = pairs.filter(([pid, ppid]) => pid === shellPid || ppid === shellPid);
  return family.flatMap(([pid]) => (pid === undefined || pid === serverPid ? [] : [pid]));
}

const soon = { timeout: 10_000, interval: 20 };

it("ends a server whose starter is killed with SIGKILL, and removes its folder", async () => {
  const { parent, exited, dataDir, serverPid } = await startElsewhere(waitProgram);
  expect(dataDir.startsWith(scratch)).toBe(true);
  expect(isAlive(serverPid)).toBe(true);
  parent.kill("SIGKILL");
  await exited;
  await vi.waitFor(() => expect([isAlive(serverPid), existsSync(dataDir)]).toEqual([false, false]), soon);
});

it("leaves nothing of a starter that is killed with SIGKILL while it makes the cluster", async () => {
  const { parent, exited } = spawnStarter(waitProgram);
  const ofServer = () => readdirSync(scratch).filter((name) => name.startsWith("doorbell-postgres-"));
  const initdbIsWriting = () =>
    ofServer().some((name) => readdirSync(join(scratch, name), { recursive: true }).length > 20);
  await vi.waitUntil(initdbIsWriting, soon);
  parent.kill("SIGKILL");
  await exited;
  await vi.waitFor(() => expect(ofServer()).toEqual([]), soon);
});

it("neither keeps its starter from coming to an end nor outlives it", async () => {
  const { exited, dataDir, serverPid } = await startElsewhere(startProgram);
  expect(await exited).toEqual([0, null]);
  await vi.waitFor(() => expect([isAlive(serverPid), existsSync(dataDir)]).toEqual([false, false]), soon);
});

it("stops a server that has outlived both its starter and its guards before it starts on the same data", async () => {
  const dataDir = join(scratch, "survivor");
  const { parent, exited, serverPid } = await startElsewhere(waitProgram, { dataDir });
  const guards = guardsOf(serverPid);
  expect(guards).toHaveLength(2);
  for (const pid of guards) process.kill(pid, "SIGKILL");
  parent.kill("SIGKILL");
  await exited;
  expect(isAlive(serverPid)).toBe(true);

  await using server = await startEmbeddedPostgres({ dataDir });
  expect(isAlive(serverPid)).toBe(false);
  expect(server.dataDir).toBe(dataDir);
});
