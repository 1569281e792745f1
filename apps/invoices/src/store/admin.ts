// A connection for whoever administers: migrates, makes accounts. Web and worker never use it.
import pg from "pg";

export type AdminClient = pg.Client;

/** Connects, runs, and ends the connection, whatever happens. */
export async function withAdmin<T>(url: string, run: (client: AdminClient) => Promise<T>): Promise<T> {
  const client = new pg.Client(url);
  client.on("error", () => {});
  await client.connect();
  try {
    return await run(client);
  } finally {
    await client.end();
  }
}
