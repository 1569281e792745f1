// What the tests stand on: a database of their own, the application as the binary would run it (web and worker in this
// process), accounts, and counterparts that count. All of it ends with the test.
import { createDoorbell, createLog, type Doorbell, type Worker } from "doorbell-jobs";
import { createTestDatabase, type TestDatabase } from "doorbell-jobs/testing";
import { app } from "../src/app.ts";
import { closeResources, openResources, type Resources } from "../src/resources.ts";
import { createAccount } from "../src/store/accounts.ts";
import { withAdmin } from "../src/store/admin.ts";
import { migrateInvoices } from "../src/store/migrate.ts";
import { invoicesWeb } from "../src/web/routes.ts";
import { type MailCatcher, startMailCatcher } from "./counterparts/mail-catcher.ts";
import { startWebhookReceiver, type WebhookReceiver } from "./counterparts/webhook-receiver.ts";

export interface Stage extends AsyncDisposable {
  /** Queried as the superuser: for looking at what is really there. */
  readonly db: TestDatabase;
  /** As `invoices_app`, the login of the application. */
  readonly appUrl: string;
  readonly doorbell: Doorbell;
  readonly resources: Resources;
  readonly receiver: WebhookReceiver;
  readonly mailCatcher: MailCatcher;
  /** Makes an account, and gives a client of its own. */
  openAccount(id: string): Promise<AccountClient>;
  startWorker(): Promise<Worker>;
  /** A request to the application's HTTP. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
}

/** The application's HTTP with one account's token. */
export interface AccountClient {
  readonly id: string;
  readonly token: string;
  fetch(path: string, init?: RequestInit): Promise<Response>;
}

export async function openStage(): Promise<Stage> {
  const db = await createTestDatabase();
  await migrateAlone(db.adminUrl);
  const appUrl = asLogin(db.adminUrl, "invoices_app");
  const log = createLog({ level: "silent" });
  const { tenantSetting } = app;
  const doorbell = await createDoorbell({ databaseUrl: appUrl, log, ...(tenantSetting && { tenantSetting }) });
  const resources = openResources({ doorbell, log, env: { DATABASE_URL: appUrl } });
  const web = invoicesWeb(resources);
  const receiver = await startWebhookReceiver();
  const mailCatcher = await startMailCatcher();
  const workers: Worker[] = [];

  const request = async (path: string, init?: RequestInit): Promise<Response> =>
    await web.fetch(new Request(`http://invoices.test${path}`, init));

  return {
    db,
    appUrl,
    doorbell,
    resources,
    receiver,
    mailCatcher,
    fetch: request,
    async openAccount(id) {
      const token = await withAdmin(db.adminUrl, (client) =>
        createAccount(client, {
          account_id: id,
          name: id,
          contact_email: `${id}@example.com`,
          webhook_url: receiver.urlOf(id),
          webhook_secret: null,
        }),
      );
      const headers = { authorization: `Bearer ${token}` };
      return {
        id,
        token,
        fetch: (path, init) => request(path, { ...init, headers: { ...headers, ...init?.headers } }),
      };
    },
    async startWorker() {
      const handlers = app.handlers(resources, { doorbell, role: "worker", env: {}, log });
      const options = { smtpUrl: mailCatcher.url, allowPrivateWebhooks: true, sweepEvery: "1s", grace: "5s" };
      const worker = doorbell.worker(handlers, options);
      workers.push(worker);
      await worker.start();
      return worker;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(workers.map((worker) => worker.drain()));
      await closeResources(resources);
      await doorbell.close();
      await receiver[Symbol.asyncDispose]();
      await mailCatcher[Symbol.asyncDispose]();
      await db.drop();
    },
  };
}

/** Roles belong to the server, not to the database: two test files must not make them at the same time. */
async function migrateAlone(adminUrl: string): Promise<void> {
  const shared = new URL(adminUrl);
  shared.pathname = "/postgres";
  await withAdmin(shared.href, async (turnstile) => {
    await turnstile.query("select pg_advisory_lock(hashtextextended('invoices.migrate', 0))");
    await withAdmin(adminUrl, migrateInvoices);
  });
}

function asLogin(url: string, user: string): string {
  const changed = new URL(url);
  changed.username = user;
  return changed.href;
}
