// Everything that a run needs, brought up: database, receiver, mail server, accounts, one web process and two workers.
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { withAdmin } from "../../apps/invoices/src/store/admin.ts";
import { type MailCatcher, startMailCatcher } from "../../apps/invoices/test/counterparts/mail-catcher.ts";
import { startWebhookReceiver, type WebhookReceiver } from "../../apps/invoices/test/counterparts/webhook-receiver.ts";
import { type DemoAccount, openAccounts } from "./accounts.ts";
import { type DemoDatabase, openDemoDatabase } from "./database.ts";
import { type LedgerReader, openLedger } from "./ledger.ts";
import type { DemoOptions } from "./options.ts";
import { DemoProcess } from "./process.ts";
import { type DemoQueue, openDemoQueue } from "./queue.ts";
import { openRunFolder, type RunFolder } from "./run-folder.ts";
import type { TakeDown } from "./take-down.ts";

export interface Stand {
  readonly folder: RunFolder;
  readonly database: DemoDatabase;
  readonly queue: DemoQueue;
  readonly receiver: WebhookReceiver;
  readonly mailCatcher: MailCatcher;
  readonly accounts: readonly DemoAccount[];
  readonly ledger: LedgerReader;
  readonly web: RunningBinary;
  readonly workers: readonly [RunningWorker, RunningWorker];
  readonly objectsUrl: string;
}

interface RunningBinary {
  readonly process: DemoProcess;
  readonly url: string;
}

interface RunningWorker extends RunningBinary {
  /** By which it claims. */
  readonly workerId: string;
}

const appModule = fileURLToPath(new URL("./doubled-app.ts", import.meta.url));
/** Documents that one worker reads at once. Few, so that both have something to do. */
const concurrency = "4";

/** Brings it up, and gives `takeDown` what has to be undone. */
export async function openStand(options: DemoOptions, takeDown: TakeDown): Promise<Stand> {
  const folder = openRunFolder(options.keep);
  await takeDown.push(() => folder.close());

  const queue = await openDemoQueue(options.queue, takeDown);
  const database = await openDemoDatabase(folder, options.keep !== null, takeDown);
  const receiver = await openReceiver(folder, takeDown);
  const mailCatcher = await startMailCatcher();
  await takeDown.push(() => mailCatcher[Symbol.asyncDispose]());

  const accounts = await withAdmin(database.adminUrl, (admin) => openAccounts(admin, receiver.urlOf));
  const ledger = await openLedger(database.appUrl);
  await takeDown.push(() => ledger.close());

  const objectsUrl = `file:${folder.objects}`;
  const env = {
    DATABASE_URL: database.appUrl,
    DOORBELL_ENV: "development",
    DOORBELL_APP: appModule,
    DOORBELL_OBJECTS: objectsUrl,
    DOORBELL_QUEUE: queue.url,
    // A free one, and the log says which.
    DOORBELL_PORT: "0",
    DOORBELL_CONCURRENCY: concurrency,
    // Short, so that what the killed worker held is soon somebody else's.
    DOORBELL_LEASE: "5s",
    DOORBELL_SWEEP_EVERY: "1s",
    DOORBELL_GRACE: "3s",
    // The receiver is on this machine, which in production no webhook may reach.
    DOORBELL_WEBHOOK_ALLOW_PRIVATE: "1",
    DOORBELL_SMTP_URL: mailCatcher.url,
    INVOICES_MAIL_FROM: "invoices@demo.example",
  };
  const start = (name: string, role: string): DemoProcess => {
    const logFile = join(folder.logs, `${name.replace(" ", "-")}.log`);
    return new DemoProcess({ name, args: ["start", "--role", role], env, logFile });
  };
  const [web, ...workers] = await Promise.all([
    served(start("web", "web"), takeDown),
    worked(start("worker 1", "worker"), takeDown),
    worked(start("worker 2", "worker"), takeDown),
  ]);
  return { folder, database, queue, receiver, mailCatcher, accounts, ledger, web, workers, objectsUrl };
}

async function openReceiver(folder: RunFolder, takeDown: TakeDown): Promise<WebhookReceiver> {
  const log = createWriteStream(join(folder.logs, "receiver.log"), { flags: "a" });
  const receiver = await startWebhookReceiver((delivery) => log.write(`${JSON.stringify(delivery)}\n`));
  await takeDown.push(async () => {
    await receiver[Symbol.asyncDispose]();
    await new Promise((resolve) => log.end(resolve));
  });
  return receiver;
}

async function served(process: DemoProcess, takeDown: TakeDown): Promise<RunningBinary> {
  await takeDown.push(() => process.stop());
  const { port } = await process.says("listening");
  return { process, url: `http://127.0.0.1:${port}` };
}

async function worked(process: DemoProcess, takeDown: TakeDown): Promise<RunningWorker> {
  const [binary, { worker }] = await Promise.all([served(process, takeDown), process.says("worker started")]);
  return { ...binary, workerId: String(worker) };
}
