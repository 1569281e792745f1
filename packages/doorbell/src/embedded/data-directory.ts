// The folder that a server keeps things in: the cluster in `pgdata`, and `server.log`. Chooses it together with the OS
// user, who must be able to reach it, and makes the cluster in it. Never takes over or overwrites what is not a cluster.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Binaries } from "./binaries.ts";
import { tether } from "./lifeline.ts";
import { canEnter, chooseServerUser, giveToServer, type ServerUser } from "./os-user.ts";
import type { ServerLog } from "./server-log.ts";
import { requireSharedFolder } from "./shared-folder.ts";

export interface DataDirectory {
  /** Absolute, and without symbolic links: it identifies the server in the process table. */
  readonly path: string;
  readonly clusterDir: string;
  readonly user: ServerUser;
  /** Made for this one run, and removed after it. */
  readonly temporary: boolean;
}

/** A folder for this run only, which belongs to the server's user. */
export function makeTemporaryDirectory(): DataDirectory {
  const user = chooseServerUser(null);
  const parent = [tmpdir(), "/var/tmp"].find((folder) => canEnter(folder, user)) ?? tmpdir();
  const path = realpathSync(mkdtempSync(join(parent, "doorbell-postgres-")));
  giveToServer(path, user);
  return { path, clusterDir: join(path, "pgdata"), user, temporary: true };
}

/** Created if need be. As root, a folder that the server's user cannot enter is replaced by one below /var/lib. */
export function openKeptDirectory(dataDir: string): DataDirectory {
  const wanted = enterable(resolve(dataDir));
  if (wanted !== null) return wanted;
  const name = createHash("sha256").update(resolve(dataDir)).digest("hex").slice(0, 16);
  const reachable = enterable(join(requireSharedFolder(), `data-${name}`));
  if (reachable !== null) return reachable;
  throw new Error(`embedded postgres: the server's OS user can enter neither ${dataDir} nor ${requireSharedFolder()}`);
}

function enterable(folder: string): DataDirectory | null {
  const isNew = mkdirSync(folder, { recursive: true }) !== undefined;
  const path = realpathSync(folder);
  const clusterDir = join(path, "pgdata");
  const user = chooseServerUser(clusterDir);
  if (isNew) giveToServer(path, user);
  return canEnter(path, user) ? { path, clusterDir, user, temporary: false } : null;
}

/**
 * Makes the cluster unless there is one. It gets its name when it is complete, so that a run that was interrupted
 * leaves no half of one, and of two runs at once the slower finds that of the faster.
 */
export async function ensureCluster(directory: DataDirectory, binaries: Binaries, log: ServerLog): Promise<void> {
  const { clusterDir, user, temporary } = directory;
  if (isCluster(clusterDir)) return;
  if (existsSync(clusterDir) && readdirSync(clusterDir).length > 0) {
    throw new Error(`embedded postgres: ${clusterDir} has files in it but no Postgres cluster; choose another dataDir`);
  }
  const staged = mkdtempSync(`${clusterDir}.new-`);
  giveToServer(staged, user);
  try {
    const initdb = [binaries.initdb, "-D", staged, ...initdbFlags(binaries, temporary)];
    const command = await tether(initdb, { user, logFd: log.fd, folder: temporary ? directory.path : staged });
    const code = await command.ended;
    if (code !== 0) throw log.failure(`initdb failed (exit code ${code})`);
    if (!isCluster(clusterDir)) renameSync(staged, clusterDir);
  } catch (error) {
    if (!isCluster(clusterDir)) throw error;
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

function isCluster(clusterDir: string): boolean {
  return existsSync(join(clusterDir, "PG_VERSION"));
}

/** The locale is Postgres' own where it has one (17 and newer), as that of the machine may lack UTF-8. */
function initdbFlags(binaries: Binaries, temporary: boolean): readonly string[] {
  const ownLocale = Number.parseInt(binaries.version, 10) >= 17;
  return [
    ...["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-instructions"],
    ...(ownLocale ? ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"] : []),
    ...(temporary ? ["--no-sync"] : []),
  ];
}
