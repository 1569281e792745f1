import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { ensureCluster, makeTemporaryDirectory, openKeptDirectory } from "./data-directory.ts";
import { canEnter } from "./os-user.ts";
import { openServerLog } from "./server-log.ts";

const scratch = mkdtempSync(join(tmpdir(), "embedded-data-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

it("quotes initdb when it fails, and leaves no half of a cluster", async () => {
  const directory = makeTemporaryDirectory();
  const initdb = join(directory.path, "initdb");
  writeFileSync(initdb, '#!/bin/sh\necho half >"$2/PG_VERSION"\necho "initdb: error: disk full" >&2\nexit 3\n');
  chmodSync(initdb, 0o755);
  const log = openServerLog(join(directory.path, "server.log"), directory.user);
  try {
    await expect(ensureCluster(directory, { initdb, postgres: "", version: "18.4" }, log)).rejects.toThrow(
      /initdb failed \(exit code 3\).*initdb: error: disk full/s,
    );
    expect(readdirSync(directory.path).sort()).toEqual(["initdb", "server.log"]);
  } finally {
    log.close();
    rmSync(directory.path, { recursive: true });
  }
});

it("keeps data where it was asked to when the server's user can go there", () => {
  chmodSync(scratch, 0o755);
  const asked = join(scratch, "a", "b");
  const directory = openKeptDirectory(asked);
  expect(directory).toMatchObject({ path: asked, clusterDir: join(asked, "pgdata"), temporary: false });
});

// Only root runs the server as somebody else, who may be shut out.
it.runIf(process.getuid?.() === 0)("finds the same reachable place again for data under a private home", () => {
  const home = mkdtempSync(join(scratch, "home-"));
  expect(statSync(home).mode & 0o777).toBe(0o700);
  const asked = join(home, "project", "data");
  const directory = openKeptDirectory(asked);
  try {
    expect(canEnter(asked, directory.user)).toBe(false);
    expect(canEnter(directory.path, directory.user)).toBe(true);
    expect(openKeptDirectory(asked)).toEqual(directory);
    expect(openKeptDirectory(`${asked}2`).path).not.toBe(directory.path);
  } finally {
    for (const folder of [directory.path, openKeptDirectory(`${asked}2`).path]) rmSync(folder, { recursive: true });
    expect(existsSync(directory.path)).toBe(false);
  }
});
