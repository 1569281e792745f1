// `doorbell migrate`: brings the schema to this version, as whatever login DATABASE_URL names. `--sql` needs no database.
import { Command } from "commander";
import { resolveSettings, tenancyOptions } from "../config/settings.ts";
import { DoorbellError } from "../core/errors.ts";
import { Database } from "../store/database.ts";
import { missingToMigrate } from "../store/inspect-migrator.ts";
import { type MigrationOptions, migrate, migrationSql, type SchemaState, schemaState } from "../store/migrate.ts";
import { asIfOurs, named, type RoleNames } from "../store/role-names.ts";
import { tokenKeys } from "../store/tenancy.ts";
import { version } from "../version.ts";
import { requireDatabaseUrl } from "./client.ts";
import { exitCodes } from "./errors.ts";
import { print } from "./output.ts";

/** A migration may have to wait for others, and may take its time. */
const answerWithinMs = 3_600_000;

export function migrateCommand(): Command {
  return new Command("migrate")
    .description("bring the database to this version's schema; safe to run again, and from many processes at once")
    .option("--sql", "print the SQL for an empty database, and run nothing")
    .option("--check", "only tell how the schema stands; exit code 1 if it is not this version's")
    .action(async ({ sql, check }: { readonly sql?: boolean; readonly check?: boolean }) => {
      const settings = resolveSettings(process.env);
      const { roleNames } = settings;
      const options = { tokenKeys: tokenKeys(tenancyOptions(settings)), roleNames };
      if (sql) return print(migrationSql(options));
      const url = await requireDatabaseUrl(settings);
      const database = new Database({ url, max: 1, name: "doorbell migrate", answerWithinMs });
      try {
        await (check ? checkSchema(database) : bringUp(database, options));
      } finally {
        await database.close();
      }
    });
}

async function bringUp(database: Database, options: Required<MigrationOptions>): Promise<void> {
  // A login that may read how the schema stands need not be able to migrate one that is there already.
  const { behind, ahead } = await schemaState(database).catch(() => unknownState);
  if (ahead.length > 0) {
    throw new DoorbellError(
      "schema_version",
      `the schema is of a newer version: version ${version} does not know ${ahead.join(", ")}, and must not put its own in their place`,
    );
  }
  if (behind.length === 0 && options.tokenKeys.length === 0)
    return print(`the schema is that of version ${version} already`);
  const client = await database.connect();
  try {
    const { applied, functionsReplaced, keysChanged } = await migrate(client, options).catch(async (error: unknown) => {
      throw (await notAllowed(error, database, options.roleNames)) ?? error;
    });
    const done = [...applied, ...(functionsReplaced ? ["functions"] : []), ...(keysChanged ? ["keys for tokens"] : [])];
    print(done.length === 0 ? `the schema is that of version ${version} already` : `applied: ${done.join(", ")}`);
  } finally {
    await client.end();
  }
}

/** Nobody has looked: the run itself will. */
const unknownState: SchemaState = { behind: ["?"], ahead: [] };

async function notAllowed(error: unknown, database: Database, roleNames: RoleNames): Promise<Error | null> {
  if ((error as { readonly code?: unknown } | null)?.code !== "42501") return null;
  const missing = (await missingToMigrate(asIfOurs(database, roleNames))).map((statement) =>
    named(statement, roleNames),
  );
  const advice = [
    "name a login in DATABASE_URL that may create roles, or hand the output of doorbell migrate --sql to a DBA",
    ...(missing.length === 0 ? [] : [`or let a DBA run this, and run it again: ${missing.join("; ")};`]),
  ];
  return new Error(`this login may not migrate: ${(error as Error).message}; ${advice.join(", ")}`);
}

async function checkSchema(database: Database): Promise<void> {
  const { behind, ahead } = await schemaState(database);
  if (behind.length === 0 && ahead.length === 0) return print(`the schema is that of version ${version}`);
  if (ahead.length > 0) print(`ahead: version ${version} does not know ${ahead.join(", ")}`);
  if (behind.length > 0) print(`behind: doorbell migrate would apply ${behind.join(", ")}`);
  process.exitCode = exitCodes.failed;
}
