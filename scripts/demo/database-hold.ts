// One demo at a time on a database that it was given: two would have one queue, and each one's workers would claim jobs whose
// documents are in the other's folder.
import pg from "pg";
import { DemoError } from "./demo-error.ts";

const lockSql = "select pg_try_advisory_lock(hashtextextended('doorbell.demo', 0)) as held";

/** Resolves with how to let go. Throws DemoError when the database does not answer, or another demo has it. */
export async function holdDatabase(url: string): Promise<() => Promise<void>> {
  const client = await connect(url);
  const { rows } = await client.query<{ held: boolean }>(lockSql);
  if (rows[0]?.held === true) return () => client.end();
  await client.end();
  throw new DemoError("another demo runs on the database of DATABASE_URL: end it, or name another database");
}

async function connect(url: string): Promise<pg.Client> {
  try {
    const client = new pg.Client(url);
    client.on("error", () => {});
    await client.connect();
    return client;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new DemoError(
      `the database of DATABASE_URL cannot be used (${why}): start it, or unset DATABASE_URL to have one embedded`,
    );
  }
}
