// The demo's database: an embedded server, or the one that DATABASE_URL names. Migrated, with a login for the processes.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { startEmbeddedPostgres } from "doorbell-jobs/embedded";
import { withAdmin } from "../../apps/invoices/src/store/admin.ts";
import { migrateInvoices } from "../../apps/invoices/src/store/migrate.ts";
import { DemoProcess } from "./process.ts";
import type { RunFolder } from "./run-folder.ts";

const appLogin = "invoices_app";

export interface DemoDatabase {
  /** A person's word for it. */
  readonly description: string;
  /** Of whoever may migrate. */
  readonly adminUrl: string;
  /** Of the processes: a login that row-level security binds. */
  readonly appUrl: string;
  stop(): Promise<void>;
}

/** `keep` keeps the embedded server's data in the folder. */
export async function openDemoDatabase(folder: RunFolder, keep: boolean): Promise<DemoDatabase> {
  const given = process.env["DATABASE_URL"];
  return given ? await openGiven(given, folder) : await openEmbedded(folder, keep);
}

async function openEmbedded(folder: RunFolder, keep: boolean): Promise<DemoDatabase> {
  const server = await startEmbeddedPostgres(keep ? { dataDir: join(folder.path, "postgres") } : {});
  const stop = () => server.stop();
  try {
    await migrate(server.url, folder);
    // It trusts whoever comes from this machine: the login needs no password.
    const appUrl = server.urlFor("postgres", appLogin);
    return { description: `Postgres ${server.version}, embedded`, adminUrl: server.url, appUrl, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function openGiven(url: string, folder: RunFolder): Promise<DemoDatabase> {
  await migrate(url, folder);
  const password = randomBytes(24).toString("base64url");
  await withAdmin(url, (admin) => admin.query(`alter role ${appLogin} password '${password}'`));
  const appUrl = new URL(url);
  appUrl.username = appLogin;
  appUrl.password = password;
  return { description: "the Postgres of DATABASE_URL", adminUrl: url, appUrl: appUrl.href, stop: async () => {} };
}

/** The product's schema by its own binary, then the application's. */
async function migrate(url: string, folder: RunFolder): Promise<void> {
  const product = new DemoProcess({
    name: "doorbell migrate",
    args: ["migrate"],
    env: { DATABASE_URL: url, DOORBELL_ENV: "development" },
    logFile: join(folder.logs, "migrate.log"),
  });
  if ((await product.ends()) !== 0) throw new Error(`doorbell migrate failed:\n${product.complaint}`);
  await withAdmin(url, migrateInvoices);
}
