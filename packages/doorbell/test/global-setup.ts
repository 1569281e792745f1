// One Postgres for the whole run.
import { startTestServer } from "../src/testing/database.ts";

export async function setup(): Promise<() => Promise<void>> {
  const server = await startTestServer();
  return () => server.stop();
}
