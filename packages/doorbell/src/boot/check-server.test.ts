// What cannot be planted on the server of the tests: another version, a network without TLS, a disk that is not waited for.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../../test/support.ts";
import { resolveSettings } from "../config/settings.ts";
import { startEmbeddedPostgres } from "../embedded/index.ts";
import { chooseServerUser, giveToServer } from "../embedded/os-user.ts";
import { Database, databaseEncrypts } from "../store/database.ts";
import { inspectServer, type ServerFacts } from "../store/inspect-server.ts";
import { checkClock, checkEncryption, checkServer } from "./check-server.ts";

const facts: ServerFacts = {
  version: 180_004,
  settings: [],
  nowMs: 0,
  encrypted: false,
  local: true,
  database: "d",
  login: "l",
};

const codesOf = (findings: readonly { readonly code: string }[]): readonly string[] => findings.map(({ code }) => code);

test.each<[number, readonly string[]]>([
  [140_020, ["server_too_old"]],
  [150_013, ["server_unpatched"]],
  [150_018, []],
  [160_009, ["server_unpatched"]],
  [170_006, []],
  [180_000, []],
  [190_000, []],
])("of version %i it finds %j", (version, codes) => {
  expect(codesOf(checkServer({ ...facts, version }))).toEqual(codes);
});

test.each(["fsync", "full_page_writes"])("a server with %s off is found, and mended", async (name) => {
  const server = await startEmbeddedPostgres();
  onTestFinished(() => server.stop());
  const client = new pg.Client(server.url);
  await client.connect();
  onTestFinished(() => client.end());
  const database = new Database({ url: server.url, max: 1, name: "test" });
  onTestFinished(() => database.close());
  const look = async () => checkServer(await inspectServer(database));
  expect(await look()).toEqual([]);
  await client.query(`alter system set ${name} = off`);
  await client.query("select pg_reload_conf()");
  const [found] = await eventually("the finding", async () => ((await look()).length > 0 ? await look() : undefined));
  expect(found).toMatchObject({ code: "durability_off", severity: "refuse", subject: name });
  // As psql runs it: each statement by itself.
  for (const statement of found?.mend.split("; ") ?? []) await client.query(statement);
  await eventually("its end", async () => (await look()).length === 0);
});

const haveOpenssl = spawnSync("openssl", ["version"]).status === 0;

test.skipIf(!haveOpenssl && !process.env["CI"])("a connection with TLS is known as one (needs openssl)", async () => {
  const folder = mkdtempSync(join(tmpdir(), "doorbell-tls-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [key, cert] = [join(folder, "key"), join(folder, "cert")];
  const subject = ["-subj", "/CN=localhost", "-days", "1", "-keyout", key, "-out", cert];
  const made = spawnSync("openssl", ["req", "-x509", "-nodes", "-newkey", "rsa:2048", ...subject]);
  expect(made.status).toBe(0);
  const user = chooseServerUser(null);
  for (const file of [folder, key, cert]) giveToServer(file, user);
  const settings = ["ssl=on", `ssl_cert_file=${cert}`, `ssl_key_file=${key}`];
  const server = await startEmbeddedPostgres({ flags: settings.flatMap((setting) => ["-c", setting]) });
  onTestFinished(() => server.stop());
  for (const [mode, encrypted] of [
    ["no-verify", true],
    ["disable", false],
  ] as const) {
    const url = `${server.url}?sslmode=${mode}`;
    const database = new Database({ url, max: 1, name: "test" });
    onTestFinished(() => database.close());
    expect(await inspectServer(database)).toMatchObject({ encrypted, local: true });
    expect(databaseEncrypts(url)).toBe(encrypted);
  }
});

const nearby = "postgres://app@127.0.0.1/app";
const faraway = "postgres://app@db.internal/app";

test.each<[string, string, Record<string, string>, Partial<ServerFacts>, readonly string[]]>([
  ["on loopback", nearby, {}, {}, []],
  ["in a socket", "postgres:///app?host=/run/postgresql", {}, {}, []],
  ["over the network", faraway, {}, { local: false }, ["DATABASE_URL"]],
  ["over the network to a pooler beside Postgres", faraway, {}, { local: true }, ["DATABASE_URL"]],
  ["with TLS", `${faraway}?sslmode=verify-full`, {}, { local: false, encrypted: true }, []],
  ["with TLS to a pooler, and on without", `${faraway}?sslmode=verify-full`, {}, { local: false }, ["pooler"]],
  ["to a pooler on loopback, and on without", nearby, {}, { local: false }, ["pooler"]],
  ["for LISTEN only", nearby, { DATABASE_DIRECT_URL: faraway }, {}, ["DATABASE_DIRECT_URL"]],
  ["where that is declared", faraway, { DOORBELL_DATABASE_ALLOW_PLAINTEXT: "1" }, { local: false }, []],
])("a connection %s", (_, url, variables, seen, subjects) => {
  const found = checkEncryption(resolveSettings(variables), url, { ...facts, ...seen });
  expect(found.map(({ subject }) => subject)).toEqual(subjects);
  expect(codesOf(found)).toEqual(subjects.map(() => "database_unencrypted"));
});

test("clocks may be apart by what the question took and 5 s", () => {
  expect(checkClock(10_000, 9_000, 12_000)).toEqual([]);
  expect(checkClock(5_000, 9_999, 10_001)).toEqual([]);
  expect(codesOf(checkClock(4_000, 9_999, 10_001))).toEqual(["clock_apart"]);
  expect(codesOf(checkClock(16_000, 9_999, 10_001))).toEqual(["clock_apart"]);
});
