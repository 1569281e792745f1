// A real Postgres for tests: one embedded server a test run, a migrated template in it, and a database of its own for
// whoever asks, cloned in a tenth of a second. Logins are as in production: nobody but `admin` is a superuser.
import pg from "pg";
import { newId } from "../core/ids.ts";
import { startEmbeddedPostgres } from "../embedded/index.ts";
import { migrate } from "../store/migrate.ts";

/** Where the run's server listens; set by `startTestServer`, and inherited by the processes of the tests. */
const urlVariable = "DOORBELL_TEST_DATABASE_URL";
/** Where a pooler stands before it, if one does: the logins of the product go through it, the superuser does not. */
export const poolerUrlVariable = "DOORBELL_TEST_POOLER_URL";
const template = "doorbell_template";

/** A server with a migrated template. Give its `stop` to the end of the run. `packageDir`: another version's binaries. */
export async function startTestServer(
  options: { readonly packageDir?: string } = {},
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  // Nothing here outlives the run, so waiting for the disk would only cost time. It stays durable otherwise: production
  // refuses a server that is not, and some tests start as production.
  const flags = ["synchronous_commit=off", "max_connections=300"].flatMap((flag) => ["-c", flag]);
  const server = await startEmbeddedPostgres({ flags, ...options });
  await onDatabase(server.url, async (admin) => {
    await admin.query(`create database ${template}`);
  });
  await onDatabase(server.urlFor(template), async (admin) => {
    await migrate(admin);
    await admin.query("create role app login in role doorbell_web, doorbell_worker");
    await admin.query("create role web login in role doorbell_web");
    await admin.query("create role producer login in role doorbell_producer");
  });
  process.env[urlVariable] = server.url;
  return { url: server.url, stop: () => server.stop() };
}

export interface TestDatabase extends AsyncDisposable {
  /** Holds web and worker, as a process of the role `all` does. */
  readonly appUrl: string;
  /** May enqueue and read, and not claim. */
  readonly webUrl: string;
  /** May enqueue, and nothing else. */
  readonly producerUrl: string;
  /** A superuser: row-level security does not bind it. For looking at what is really there. */
  readonly adminUrl: string;
  /** A query as the superuser. */
  query<Row extends pg.QueryResultRow = Record<string, never>>(
    text: string,
    params?: readonly unknown[],
  ): Promise<readonly Row[]>;
  drop(): Promise<void>;
}

/** A database of one's own. The run must have started a server (vitest's global setup does). */
export async function createTestDatabase(): Promise<TestDatabase> {
  const server = process.env[urlVariable];
  if (server === undefined) throw new Error("no test server runs: startTestServer has not been called");
  const name = `test_${newId().replaceAll("-", "")}`;
  await onDatabase(server, (admin) => admin.query(`create database ${name} template ${template}`));
  const urlAs = (user: string, at: string = process.env[poolerUrlVariable] ?? server): string => {
    const url = new URL(at);
    url.pathname = `/${name}`;
    url.username = user;
    return url.href;
  };
  const adminUrl = urlAs(new URL(server).username, server);
  const pool = new pg.Pool({ connectionString: adminUrl, max: 2 });
  pool.on("error", () => {});
  const drop = async (): Promise<void> => {
    await pool.end();
    await onDatabase(server, (admin) => admin.query(`drop database if exists ${name} with (force)`));
  };
  return {
    appUrl: urlAs("app"),
    webUrl: urlAs("web"),
    producerUrl: urlAs("producer"),
    adminUrl,
    query: async (text, params = []) => (await pool.query(text, [...params])).rows,
    drop,
    [Symbol.asyncDispose]: drop,
  };
}

async function onDatabase(url: string, run: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await run(client);
  } finally {
    await client.end();
  }
}
