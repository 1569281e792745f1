// One Postgres for the whole run: version DOORBELL_TEST_POSTGRES (18), with DOORBELL_TEST_POOL=N behind a PgBouncer in
// transaction mode that has N connections for each login and database.
import { poolerUrlVariable, startTestServer } from "../src/testing/database.ts";
import { startPgBouncer } from "./servers/pgbouncer.ts";
import { postgresPackage } from "./servers/postgres-package.ts";

export async function setup(): Promise<() => Promise<void>> {
  const packageDir = postgresPackage(process.env["DOORBELL_TEST_POSTGRES"] ?? "18");
  const server = await startTestServer(packageDir === undefined ? {} : { packageDir });
  const poolSize = Number(process.env["DOORBELL_TEST_POOL"] ?? 0);
  const pooler = poolSize > 0 ? await startPgBouncer(server.url, poolSize) : null;
  if (pooler !== null) process.env[poolerUrlVariable] = pooler.url;
  return async () => {
    await pooler?.stop();
    await server.stop();
  };
}
