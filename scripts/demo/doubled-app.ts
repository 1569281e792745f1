// The reference application as the demo runs it: as it is, but for a queue that rings every doorbell twice.
import { type App, defineApp } from "doorbell-jobs";
import { unreliableQueue } from "doorbell-jobs/testing";
import { app as invoices } from "../../apps/invoices/src/app.ts";

export const app: App = defineApp({ ...invoices, wrapQueue: (driver) => unreliableQueue(driver, { copies: 2 }) });
