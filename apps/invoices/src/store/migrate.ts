// Brings the schema `invoices` up to date: the numbered files of sql/, each once, all in one transaction. Doorbell's own
// migration comes first, because the application's login is given Doorbell's roles.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { ClientBase } from "pg";

const sqlDir = fileURLToPath(new URL("../sql/", import.meta.url));

/** Creates roles, so it runs as whoever may; everything after it belongs to the owner. */
const rolesFile = "0001_roles.sql";

/** Asked of the catalogue: whoever migrates may become the owner, but need not see into the schema before that. */
const isBegunSql = `
select exists (
  select from pg_class where relname = 'migrations' and relnamespace = to_regnamespace('invoices')) as "isBegun"`;

const createMigrations = `
create table if not exists invoices.migrations (
  name       text primary key,
  applied_at timestamptz not null default now()
)`;

/**
 * Resolves with the names of what was applied; none: it was up to date. Safe to run from several processes at once. The
 * client's login must be able to create roles the first time, and to become invoices_owner. Throws what Postgres throws.
 */
export async function migrateInvoices(client: ClientBase): Promise<readonly string[]> {
  await client.query("begin");
  try {
    await client.query("select pg_advisory_xact_lock(hashtextextended('invoices.migrate', 0))");
    const { rows } = await client.query<{ isBegun: boolean }>(isBegunSql);
    if (rows[0]?.isBegun !== true) await client.query(readSql(rolesFile));
    await client.query("set local role invoices_owner");
    await client.query(createMigrations);
    const pending = await pendingFiles(client);
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

async function pendingFiles(client: ClientBase): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>("select name from invoices.migrations");
  const applied = new Set(rows.map(({ name }) => name));
  return readdirSync(sqlDir)
    .sort()
    .filter((name) => !applied.has(name));
}

function readSql(name: string): string {
  return readFileSync(`${sqlDir}${name}`, "utf8");
}
