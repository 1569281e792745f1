import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "./index.ts";
import { chooseServerUser } from "./os-user.ts";

const scratch = mkdtempSync(join(tmpdir(), "embedded-test-"));
// Where the server's user, who is not root, can go.
chmodSync(scratch, 0o755);
const flags = ["-c", "fsync=off"];
// For the tests that do not need a cluster of their own: to make one takes longer than all the rest.
const dataDir = join(scratch, "data");

afterAll(() => rmSync(scratch, { recursive: true, force: true }));

async function query(server: EmbeddedPostgres, sql: string): Promise<Record<string, unknown>> {
  const client = new pg.Client(server.url);
  await client.connect();
  try {
    return (await client.query(sql)).rows[0];
  } finally {
    await client.end();
  }
}

describe("a server without a data directory", () => {
  afterEach(() => vi.unstubAllEnvs());

  it("answers on loopback only, says that it is embedded, and leaves nothing when it stops", async () => {
    const server = await startEmbeddedPostgres({ flags });
    const settings = await query(
      server,
      `select current_setting('doorbell.embedded', true) as embedded, current_setting('listen_addresses') as listen,
              current_setting('unix_socket_directories') as sockets, current_setting('fsync') as fsync,
              current_setting('server_version') as version, inet_server_port() as port`,
    );
    expect(settings).toEqual({
      embedded: "on",
      listen: "127.0.0.1",
      sockets: "",
      fsync: "off",
      version: server.version,
      port: server.port,
    });

    expect(existsSync(server.dataDir)).toBe(true);
    await Promise.all([server.stop(), server.stop()]);
    expect(existsSync(server.dataDir)).toBe(false);
    await expect(query(server, "select 1")).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });

  it("has a UTF-8 database and keeps fsync on when the environment names no language", async () => {
    for (const name of ["LANG", "LC_ALL", "LC_CTYPE"]) vi.stubEnv(name, undefined);
    await using server = await startEmbeddedPostgres();
    expect(
      await query(
        server,
        `select current_setting('server_encoding') as encoding, upper('blåbær €') as upper, length('🔔') as length,
                current_setting('fsync') as fsync`,
      ),
    ).toEqual({ encoding: "UTF8", upper: "BLÅBÆR €", length: 1, fsync: "on" });
  });
});

describe("a server with a data directory", () => {
  it("finds its data again, also when a crash left a lock that names a process of somebody else", async () => {
    const logFile = join(scratch, "kept.log");
    const first = await startEmbeddedPostgres({ dataDir, flags, logFile });
    await query(first, "create table note as select 'still here' as text");
    await first.stop();
    expect(readFileSync(logFile, "utf8")).toContain("database system is ready to accept connections");

    // Of the server's user, as Postgres itself disregards processes that it may not signal.
    const stranger = spawn("sleep", ["60"], { ...chooseServerUser(null), stdio: "ignore" });
    try {
      writeFileSync(join(first.dataDir, "pgdata", "postmaster.pid"), `${stranger.pid}\n${first.dataDir}/pgdata\n`);
      await using second = await startEmbeddedPostgres({ dataDir, flags });
      expect(second.dataDir).toBe(first.dataDir);
      expect(await query(second, "select text from note")).toEqual({ text: "still here" });
      expect(stranger.exitCode ?? stranger.signalCode).toBe(null);
    } finally {
      stranger.kill();
    }
  });

  it("is refused to a second start while the first runs, and the first goes on", async () => {
    await using server = await startEmbeddedPostgres({ dataDir, flags });
    await expect(startEmbeddedPostgres({ dataDir, flags })).rejects.toThrow(
      new RegExp(`is in use by server process \\d+, started by process ${process.pid}, which is alive`),
    );
    expect(await query(server, "select 1 as one")).toEqual({ one: 1 });
  });

  it("quotes the server when it refuses a flag", async () => {
    const start = startEmbeddedPostgres({ dataDir, flags: ["-c", "work_mem=plenty"] });
    await expect(start).rejects.toThrow(/did not start.*FATAL: +invalid value for parameter "work_mem": "plenty"/s);
  });

  it("quotes the server when the port that was asked for is taken", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as AddressInfo;
    try {
      await expect(startEmbeddedPostgres({ dataDir, port })).rejects.toThrow(
        new RegExp(`did not start on port ${port}.*Address already in use`, "s"),
      );
    } finally {
      other.close();
    }
  });

  it("builds URLs for other databases and users", async () => {
    await using server = await startEmbeddedPostgres({ dataDir, flags });
    expect(server.urlFor("app 1", "doorbell_web")).toBe(`postgres://doorbell_web@127.0.0.1:${server.port}/app%201`);
    await query(server, 'create database "app 1"');
    await query(server, "create role doorbell_web login");
    const there = { ...server, url: server.urlFor("app 1", "doorbell_web") };
    expect(await query(there, "select current_database() as db, current_user as who")).toEqual({
      db: "app 1",
      who: "doorbell_web",
    });
  });

  it("goes to one of several starts at the same time, and the others are told so", async () => {
    const fresh = join(scratch, "contended");
    const starts = await Promise.allSettled([1, 2, 3].map(() => startEmbeddedPostgres({ dataDir: fresh, flags })));
    const servers = starts.flatMap((start) => (start.status === "fulfilled" ? [start.value] : []));
    const refusals = starts.flatMap((start) => (start.status === "rejected" ? [String(start.reason)] : []));
    try {
      expect(servers).toHaveLength(1);
      expect(refusals).toEqual([expect.stringContaining("in use"), expect.stringContaining("in use")]);
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
    }
  });

  it("is refused when it holds files but no cluster, and they stay", async () => {
    const foreign = join(scratch, "foreign");
    mkdirSync(join(foreign, "pgdata"), { recursive: true });
    writeFileSync(join(foreign, "pgdata", "thesis.txt"), "years of work");
    await expect(startEmbeddedPostgres({ dataDir: foreign })).rejects.toThrow("no Postgres cluster");
    expect(readFileSync(join(foreign, "pgdata", "thesis.txt"), "utf8")).toBe("years of work");
  });
});
