// The Postgres that all contenders share: Doorbell's embedded one, real and durable, or one that the caller names.
// Owns the superuser's connections; makes and drops the contenders' databases, and touches no other.

import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { startEmbeddedPostgres } from "doorbell-jobs/embedded";
import pg from "pg";
import { monotonicMs } from "./clock.ts";
import type { ContenderName } from "./contenders/index.ts";
import { machineCpuMs, postmasterOf, serverCpuMs } from "./machine.ts";
import type { MachineSample } from "./row.ts";

/** On the checkout's own disk: a temporary folder may be in memory, where fsync costs nothing. Removed at the end. */
const dataDir = fileURLToPath(new URL("../.bench/postgres/", import.meta.url));

/** Durable as in production, large enough that no checkpoint of its own falls into one contender's measurement. */
const settings = {
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  shared_buffers: "1GB",
  max_wal_size: "8GB",
  checkpoint_timeout: "30min",
  autovacuum: "on",
  jit: "off",
};

export interface Server {
  readonly version: string;
  readonly settings: Readonly<Record<string, string>>;
  databaseUrl(contender: ContenderName): string;
  /** A new, empty database, of which `copyTemplate` makes copies once nobody is connected to it any more. */
  createTemplate(contender: ContenderName): Promise<string>;
  /** The contender's database as it is when nothing has been done yet but install the schema. */
  copyTemplate(contender: ContenderName): Promise<void>;
  /** Fresh statistics in this database, and no dirty page left in the server. */
  settleDatabase(contender: ContenderName): Promise<void>;
  sample(): Promise<MachineSample>;
  /** Leaves nothing behind: the contenders' databases go, and the server with its folder if it was started here. */
  stop(): Promise<void>;
}

/** Starts the embedded server, or connects to `url`, which must be a superuser's. */
export async function openServer(url: string | undefined, contenders: readonly ContenderName[]): Promise<Server> {
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const embedded = url === undefined ? await startEmbeddedPostgres({ dataDir, flags }) : null;
  const serverUrl = new URL(url ?? embedded?.url ?? "");
  const superuser = new pg.Pool({ connectionString: serverUrl.href });
  // Interrupted, the bench stops the server under whatever is going on: a query that fails tells its caller.
  superuser.on("error", () => {});
  const postmaster = postmasterOf(await one<number>(superuser, "select pg_backend_pid()"));

  async function recreate(database: string, template: string): Promise<void> {
    await superuser.query(`drop database if exists ${database} with (force)`);
    await superuser.query(`create database ${database} template ${template}`);
  }

  function urlOf(database: string): string {
    const url = new URL(serverUrl);
    url.pathname = database;
    return url.href;
  }

  return {
    version: await one<string>(superuser, "show server_version"),
    settings: await readSettings(superuser),
    databaseUrl: (contender) => urlOf(databaseName(contender)),
    createTemplate: async (contender) => {
      await recreate(templateName(contender), "template1");
      return urlOf(templateName(contender));
    },
    copyTemplate: (contender) => recreate(databaseName(contender), templateName(contender)),
    settleDatabase: async (contender) => {
      const database = new pg.Client(urlOf(databaseName(contender)));
      await database.connect();
      await database.query("vacuum analyze");
      await database.query("checkpoint");
      await database.end();
    },
    sample: async () => ({
      atMs: monotonicMs(),
      serverCpuMs: postmaster === null ? null : serverCpuMs(postmaster),
      machineCpuMs: machineCpuMs(),
      walBytes: Number(await one<string>(superuser, "select pg_current_wal_insert_lsn() - '0/0'::pg_lsn")),
    }),
    stop: async () => {
      for (const name of embedded === null ? contenders.flatMap((one) => [databaseName(one), templateName(one)]) : []) {
        await superuser.query(`drop database if exists ${name} with (force)`);
      }
      await superuser.end();
      if (embedded === null) return;
      await embedded.stop();
      rmSync(embedded.dataDir, { recursive: true, force: true });
    },
  };
}

function databaseName(contender: ContenderName): string {
  return `bench_${contender.replaceAll("-", "_")}`;
}

function templateName(contender: ContenderName): string {
  return `${databaseName(contender)}_template`;
}

async function one<Value>(pool: pg.Pool, sql: string): Promise<Value> {
  const { rows } = await pool.query<[Value]>({ text: sql, rowMode: "array" });
  const value = rows[0]?.[0];
  if (value === undefined) throw new Error(`no row from: ${sql}`);
  return value;
}

/** What is really in force: with a server of the caller's it may differ from what we would have set. */
async function readSettings(pool: pg.Pool): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of Object.keys(settings)) found[name] = await one<string>(pool, `show ${name}`);
  return found;
}
