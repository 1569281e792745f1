// The database that comes with development: an embedded server in `.doorbell/postgres`, migrated, with a login as production
// has it. Owns the folder `.doorbell`. Never used where DATABASE_URL is set, and never in production.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import pg from "pg";
import { type Settings, tenancyOptions } from "../config/settings.ts";
import { DoorbellError } from "../core/errors.ts";
import { describeFailure } from "../core/failure.ts";
import { Database } from "../store/database.ts";
import { ping } from "../store/inspect.ts";
import { migrate } from "../store/migrate.ts";
import { tokenKeys } from "../store/tenancy.ts";
import type { Log } from "../telemetry/log.ts";

const folder = ".doorbell";
/** Says where the server of this folder listens, for commands that run beside it. */
const addressFile = `${folder}/database-url`;
/** Not a superuser: what a policy forbids in production shows here first. */
const login = "doorbell_dev";

const makeLogin = `
do $$ begin
  if not exists (select from pg_roles where rolname = '${login}') then create role ${login} login; end if;
end $$;
grant doorbell_web, doorbell_worker to ${login};
-- For the application's own tables. A grant would let others than the owner make things in it, which the doctor warns of.
alter schema public owner to ${login};`;

export interface DevelopmentDatabase {
  readonly url: string;
  /** Ends the server, if this process started it. */
  stop(): Promise<void>;
}

/** The running server of this folder, or one that is started now. Throws boot_refused. */
export async function startDevelopmentDatabase(log: Log, settings: Settings): Promise<DevelopmentDatabase> {
  const running = await findDevelopmentDatabase();
  if (running !== null) {
    log.info("no DATABASE_URL: using the development server of this folder, which runs already");
    return { url: running, stop: async () => {} };
  }
  try {
    makeFolder();
    const { startEmbeddedPostgres } = await import("../embedded/index.ts");
    const server = await startEmbeddedPostgres({ dataDir: `${folder}/postgres` });
    await prepare(server.url, tokenKeys(tenancyOptions(settings)));
    const url = server.urlFor("postgres", login);
    writeFileSync(addressFile, url);
    log.info("no DATABASE_URL: started a server for development, which ends with this process", {
      postgres: server.version,
      postgres_port: server.port,
      login,
      data_dir: server.dataDir,
    });
    return {
      url,
      stop: async () => {
        rmSync(addressFile, { force: true });
        await server.stop();
      },
    };
  } catch (error) {
    throw new DoorbellError(
      "boot_refused",
      `DATABASE_URL is not set, and no server for development could be started: ${describeFailure(error).message}`,
      { cause: error },
    );
  }
}

/** The URL of this folder's server, if it answers. */
export async function findDevelopmentDatabase(): Promise<string | null> {
  let url: string;
  try {
    url = readFileSync(addressFile, "utf8");
  } catch {
    return null;
  }
  const database = new Database({ url, max: 1, name: "doorbell" });
  try {
    await ping(database);
    return url;
  } catch {
    return null;
  } finally {
    await database.close();
  }
}

function makeFolder(): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/.gitignore`, "*\n");
}

async function prepare(url: string, keys: readonly Buffer[]): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await migrate(client, { tokenKeys: keys });
    await client.query(makeLogin);
  } finally {
    await client.end();
  }
}
