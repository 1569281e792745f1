// What docs/backup.md says, tried with Debian's PostgreSQL 15 tools on a 15 server.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { expect, test } from "vitest";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../src/embedded/index.ts";
import { createDoorbell, createLog, defineJob } from "../src/index.ts";
import { migrate } from "../src/store/migrate.ts";
import { haveProgram } from "./servers/debian.ts";
import { postgresPackage } from "./servers/postgres-package.ts";
import { rows } from "./sql/support.ts";
import { tenantTables } from "./tenancy/boundary.ts";

const bin = "/usr/lib/postgresql/15/bin";
const haveTools = haveProgram(`${bin}/pg_dump`, "postgresql-client-15");

interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(tool: string, ...args: readonly string[]): Ran {
  return spawnSync(join(bin, tool), args, { encoding: "utf8", maxBuffer: 64 * 1_024 * 1_024 });
}

async function connect(url: string): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client(url);
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}

/** A database with jobs of three tenants, some of them finished. */
async function fill(server: EmbeddedPostgres): Promise<void> {
  await using admin = await connect(server.url);
  await admin.query("create database app");
  await using app = await connect(server.urlFor("app"));
  await migrate(app);
  await app.query("create role app login in role doorbell_web, doorbell_worker");
  await app.query("create role backup login bypassrls in role pg_read_all_data");
  await app.query("create role migrator login in role doorbell_owner");
  const log = createLog({ level: "silent" });
  const doorbell = await createDoorbell({ databaseUrl: server.urlFor("app", "app"), log });
  const work = defineJob({ kind: "work" });
  const items = Array.from({ length: 300 }, (_, n) => ({ job: work, tenant: `t${n % 3}`, idempotencyKey: `k${n}` }));
  await doorbell.enqueueMany(items);
  await doorbell.close();
  await app.query("select from doorbell.tick('w', array['work'], 100, array['default'])");
  await app.query(
    `select doorbell.settle('w', array_agg(tenant_id), array_agg(id), array_agg(attempts), array_agg('done'::text))
       from doorbell.jobs where state = 'claimed'`,
  );
}

async function counts(url: string): Promise<Readonly<Record<string, number>>> {
  await using admin = await connect(url);
  const found: Record<string, number> = {};
  for (const table of await tenantTables(admin)) {
    const [row] = await rows<{ n: number }>(admin, `select count(*)::int as n from doorbell.${table}`);
    found[table] = row?.n ?? -1;
  }
  return found;
}

test.skipIf(!haveTools && !process.env["CI"])(
  "a dump by the owner fails or is silently empty; one by a role with BYPASSRLS has every row, and so has what is restored from it",
  async () => {
    const packageDir = postgresPackage("15");
    await using server = await startEmbeddedPostgres(packageDir === undefined ? {} : { packageDir });
    await fill(server);
    const before = await counts(server.urlFor("app"));
    expect(before).toMatchObject({ jobs: 200, job_history: 100, job_keys: 300, newcomers: 3 });

    const byOwner = ["--role=doorbell_owner", "--data-only", server.urlFor("app", "migrator")];
    const refused = run("pg_dump", ...byOwner);
    expect(refused.status).not.toBe(0);
    expect(refused.stderr).toContain("row-level security");
    const empty = run("pg_dump", "--enable-row-security", ...byOwner, "--table=doorbell.jobs");
    expect({ status: empty.status, rows: empty.stdout.split("\n").filter((line) => line.startsWith("t0\t")) }).toEqual({
      status: 0,
      rows: [],
    });

    const folder = mkdtempSync(join(tmpdir(), "doorbell-backup-"));
    try {
      const file = join(folder, "app.dump");
      expect(run("pg_dump", "--format=custom", `--file=${file}`, server.urlFor("app", "backup"))).toMatchObject({
        status: 0,
        stderr: "",
      });
      await using admin = await connect(server.url);
      await admin.query("create database restored");
      expect(run("pg_restore", "--exit-on-error", `--dbname=${server.urlFor("restored")}`, file)).toMatchObject({
        status: 0,
        stderr: "",
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
    expect(await counts(server.urlFor("restored"))).toEqual(before);
    await using restored = await connect(server.urlFor("restored"));
    const unforced = await rows(
      restored,
      "select relname from pg_class where relnamespace = 'doorbell'::regnamespace and relrowsecurity and not relforcerowsecurity",
    );
    expect(unforced).toEqual([]);
    expect(await rows(restored, "select from doorbell.tick('w', array['work'], 500, array['default'])")).toHaveLength(
      200,
    );
  },
  120_000,
);
