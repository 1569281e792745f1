// Brings the schema `invoices` up to date: the numbered files of sql/, each once, all in one transaction. Doorbell's own
// migration comes first, because the application's login is given Doorbell's roles.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { ClientBase } from "pg";

const sqlDir = fileURLToPath(new URL("../sql/", import.meta.url));

/** Creates roles, so it runs as whoever may; everything after it belongs to the owner. */
const rolesFile = "0001_roles.sql";

const createMigrations = `
create table if not exists invoices.migrations (
  name       text primary key,
  applied_at timestamptz not null default now()
)`;

/** Resolves with the names of what was applied; none: it was up to date. Safe to run from several processes at once. */
export async function migrateInvoices(client: ClientBase): Promise<readonly string[]> {
  const files = readdirSync(sqlDir).sort();
  await client.query("begin");
  try {
    await client.query("select pg_advisory_xact_lock(hashtextextended('invoices.migrate', 0))");
    const applied = await appliedFiles(client);
    const pending = files.filter((name) => !applied.has(name));
    if (pending.includes(rolesFile)) await client.query(readSql(rolesFile));
    await client.query("set local role invoices_owner");
    await client.query(createMigrations);
    for (const name of pending) {
      if (name !== rolesFile) await client.query(readSql(name));
      await client.query("insert into invoices.migrations (name) values ($1)", [name]);
    }
    await client.query("commit");
    return pending;
  } catch (error) {
    await client.query("rollback");
    throw error;
  }
}

async function appliedFiles(client: ClientBase): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ there: boolean }>(
    "select to_regclass('invoices.migrations') is not null as there",
  );
  if (rows[0]?.there !== true) return new Set();
  const names = await client.query<{ name: string }>("select name from invoices.migrations");
  return new Set(names.rows.map((row) => row.name));
}

function readSql(name: string): string {
  return readFileSync(`${sqlDir}${name}`, "utf8");
}
