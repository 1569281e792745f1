// The migration runner: brings a database to this package's version of the schema. Plain .sql files, one transaction for
// all of them, so that a run that is killed leaves nothing, and N runs at once leave one row a version. No session state:
// it works through a pooler in transaction mode. It must never be needed at run time by a role that cannot write.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { ClientBase } from "pg";
import { DoorbellError } from "../core/errors.ts";
import type { Tx } from "./database.ts";
import { named, ourRoleNames, type RoleNames } from "./role-names.ts";

const sqlDir: string = fileURLToPath(new URL("../../sql/", import.meta.url));

interface SqlFile {
  readonly name: string;
  readonly text: string;
}

/** What a migration run did. Nothing in either list: the database was up to date. */
export interface MigrationReport {
  readonly applied: readonly string[];
  readonly functionsReplaced: boolean;
  /** The database verifies tokens with other keys from now on. */
  readonly keysChanged: boolean;
}

export interface MigrationOptions {
  /** What tokens may be signed with from now on. Empty: as it is. */
  readonly tokenKeys?: readonly Buffer[];
  /** What the roles are called, from the first migration on. Default: ours. */
  readonly roleNames?: RoleNames;
}

/** How a database stands to this package. `behind` names what `migrate` would do; `ahead`, what this version does not know. */
export interface SchemaState {
  readonly behind: readonly string[];
  readonly ahead: readonly string[];
}

/** The name under which the functions and grants are recorded; they are replaced as a whole when one has changed. */
const functionsName = "functions";

function readFolder(folder: string): readonly SqlFile[] {
  return readdirSync(`${sqlDir}${folder}`)
    .filter((name) => name.endsWith(".sql"))
    .sort()
    .map((name) => ({ name, text: readFileSync(`${sqlDir}${folder}/${name}`, "utf8") }));
}

const readFile = (name: string): SqlFile => ({ name, text: readFileSync(`${sqlDir}${name}`, "utf8") });

const checksum = (...files: readonly SqlFile[]): string =>
  createHash("sha256")
    .update(files.map((file) => file.text).join("\n"))
    .digest("hex");

function functionFiles(): readonly SqlFile[] {
  return [...readFolder("functions"), readFile("grants.sql")];
}

const createMigrations = `
create table if not exists doorbell.migrations (
  name       text primary key,
  checksum   text not null,
  applied_at timestamptz not null default now()
);`;

const afterMigrations = `
select doorbell.add_lane('default');
select doorbell.add_partitions();`;

/**
 * Everything `migrate` would run on an empty database, in order, for a DBA to read and run. With keys for tokens it holds
 * them: whoever reads it can sign.
 */
export function migrationSql({ tokenKeys = [], roleNames = ourRoleNames }: MigrationOptions = {}): string {
  const migrations = readFolder("migrations");
  const record = (name: string, sum: string): string =>
    `insert into doorbell.migrations (name, checksum) values ('${name}', '${sum}')\n  on conflict (name) do update set checksum = excluded.checksum, applied_at = now();`;
  const lines = [
    "begin;",
    readFile("roles.sql").text,
    "set local role doorbell_owner;",
    createMigrations,
    ...migrations.flatMap((file) => [`-- ${file.name}`, file.text, record(file.name, checksum(file))]),
    ...functionFiles().flatMap((file) => [`-- ${file.name}`, file.text]),
    record(functionsName, checksum(...functionFiles())),
    afterMigrations,
    ...(tokenKeys.length === 0 ? [] : [acceptTokens(tokenKeys)]),
    "commit;",
  ];
  return named(lines.join("\n"), roleNames);
}

const acceptTokens = (keys: readonly Buffer[]): string =>
  `select doorbell.accept_tokens(array[${keys.map((key) => `'\\x${key.toString("hex")}'::bytea`).join(", ")}]);`;

/**
 * Migrates, and where keys for tokens are given, makes them those that are accepted. Without any, whether tenancy is signed
 * stays as it is: nobody switches it off by forgetting a variable. The client must be able to create roles and the schema, or be a member of doorbell_owner where a DBA has run
 * the SQL of `migrationSql`. Waits for other runs (an advisory lock of the transaction) and is a no-op after them.
 * Throws what Postgres throws, after a rollback; and when an applied file has changed since, which must never happen.
 */
export async function migrate(
  client: ClientBase,
  { tokenKeys = [], roleNames = ourRoleNames }: MigrationOptions = {},
): Promise<MigrationReport> {
  const run = (text: string) => client.query(named(text, roleNames));
  await client.query("begin");
  try {
    await requireOwner(client, roleNames);
    await run(readFile("roles.sql").text); // takes the lock
    await run("set local role doorbell_owner");
    await run(createMigrations);
    const { rows } = await client.query<{ name: string; checksum: string }>(
      "select name, checksum from doorbell.migrations",
    );
    const applied = new Map(rows.map((row) => [row.name, row.checksum]));

    const pending: SqlFile[] = [];
    for (const file of readFolder("migrations")) {
      const known = applied.get(file.name);
      if (known === undefined) pending.push(file);
      else if (known !== checksum(file))
        throw new Error(`migration ${file.name} was changed after it had been applied`);
    }
    for (const file of pending) {
      await run(file.text);
      await record(client, file.name, checksum(file));
    }

    const functions = functionFiles();
    const functionsReplaced = applied.get(functionsName) !== checksum(...functions);
    if (functionsReplaced) {
      for (const file of functions) await run(file.text);
      await record(client, functionsName, checksum(...functions));
    }
    await run(afterMigrations);
    const keysChanged =
      tokenKeys.length > 0 &&
      // As a parameter: the text of a statement is there to be read in pg_stat_activity.
      (await client.query<{ changed: boolean }>("select doorbell.accept_tokens($1::bytea[]) as changed", [tokenKeys]))
        .rows[0]?.changed === true;
    await client.query("commit");
    return { applied: pending.map((file) => file.name), functionsReplaced, keysChanged };
  } catch (error) {
    await client.query("rollback");
    throw error;
  }
}

/** A schema that is there keeps its names: others would make a second set of roles, and no right on the first one's tables. */
async function requireOwner(client: ClientBase, { owner }: RoleNames): Promise<void> {
  const { rows } = await client.query<{ owner: string }>(
    `select c.relowner::regrole::text as owner from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = 'doorbell' and c.relname = 'jobs'`,
  );
  const there = rows[0]?.owner;
  if (there === undefined || there === owner) return;
  throw new DoorbellError(
    "option_invalid",
    `the tables belong to ${there}, and not to ${owner}: name the roles in DOORBELL_ROLE_NAMES as they were named at the first migration`,
  );
}

async function record(client: ClientBase, name: string, sum: string): Promise<void> {
  await client.query(
    `insert into doorbell.migrations (name, checksum) values ($1, $2)
     on conflict (name) do update set checksum = excluded.checksum, applied_at = now()`,
    [name, sum],
  );
}

/** Compares the database with this package, reading only. A database without our schema is behind by everything. */
export async function schemaState(tx: Tx): Promise<SchemaState> {
  const expected = new Map(readFolder("migrations").map((file) => [file.name, checksum(file)]));
  expected.set(functionsName, checksum(...functionFiles()));
  const [present] = await tx.query<{ there: boolean }>(
    "select to_regclass('doorbell.migrations') is not null as there",
  );
  const rows = present?.there
    ? await tx.query<{ name: string; checksum: string }>("select name, checksum from doorbell.migrations")
    : [];
  const actual = new Map(rows.map((row) => [row.name, row.checksum]));
  return {
    behind: [...expected].filter(([name, sum]) => actual.get(name) !== sum).map(([name]) => name),
    ahead: [...actual.keys()].filter((name) => !expected.has(name)),
  };
}
