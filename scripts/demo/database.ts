// The demo's database: an embedded server, or the one that DATABASE_URL names. Migrated, with a login for the processes.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { startEmbeddedPostgres } from "doorbell-jobs/embedded";
import { withAdmin } from "../../apps/invoices/src/store/admin.ts";
import { migrateInvoices } from "../../apps/invoices/src/store/migrate.ts";
import { holdDatabase } from "./database-hold.ts";
import { DemoError } from "./demo-error.ts";
import { DemoProcess } from "./process.ts";
import type { RunFolder } from "./run-folder.ts";
import type { TakeDown } from "./take-down.ts";

const appLogin = "invoices_app";

export interface DemoDatabase {
  /** A person's word for it. */
  readonly description: string;
  /** Of whoever may migrate. */
  readonly adminUrl: string;
  /** Of the processes: a login that row-level security binds. */
  readonly appUrl: string;
}

/** `keep` keeps the embedded server's data in the folder. Throws DemoError. */
export async function openDemoDatabase(folder: RunFolder, keep: boolean, takeDown: TakeDown): Promise<DemoDatabase> {
  const given = process.env["DATABASE_URL"];
  const database = given ? await openGiven(given, takeDown) : await openEmbedded(folder, keep, takeDown);
  await migrate(database.adminUrl, folder);
  return given ? await withPassword(database) : database;
}

async function openEmbedded(folder: RunFolder, keep: boolean, takeDown: TakeDown): Promise<DemoDatabase> {
  const where = keep ? { dataDir: join(folder.path, "postgres") } : {};
  const server = await startEmbeddedPostgres(where).catch((error: Error) => {
    throw new DemoError(error.message);
  });
  await takeDown.push(() => server.stop());
  // It trusts whoever comes from this machine: the login needs no password.
  const appUrl = server.urlFor("postgres", appLogin);
  return { description: `Postgres ${server.version}, embedded`, adminUrl: server.url, appUrl };
}

async function openGiven(url: string, takeDown: TakeDown): Promise<DemoDatabase> {
  const release = await holdDatabase(url);
  await takeDown.push(release);
  return { description: "the Postgres of DATABASE_URL", adminUrl: url, appUrl: url };
}

async function withPassword(database: DemoDatabase): Promise<DemoDatabase> {
  const password = randomBytes(24).toString("base64url");
  await withAdmin(database.adminUrl, (admin) => admin.query(`alter role ${appLogin} password '${password}'`));
  const appUrl = new URL(database.adminUrl);
  appUrl.username = appLogin;
  appUrl.password = password;
  return { ...database, appUrl: appUrl.href };
}

/** The product's schema by its own binary, then the application's. */
async function migrate(url: string, folder: RunFolder): Promise<void> {
  const product = new DemoProcess({
    name: "doorbell migrate",
    args: ["migrate"],
    env: { DATABASE_URL: url, DOORBELL_ENV: "development" },
    logFile: join(folder.logs, "migrate.log"),
  });
  if ((await product.ends()) !== 0) throw new DemoError(`doorbell migrate failed:\n${product.complaint}`);
  await withAdmin(url, migrateInvoices).catch((error: Error) => {
    throw new DemoError(`migrating the application failed: ${error.message}`);
  });
}
