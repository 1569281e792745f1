// The application as `doorbell start` sees it: its jobs, its handlers, its HTTP. Everything else is in its own place.
import { type App, defineApp } from "doorbell-jobs";
import { extractHandler } from "./handlers/extract.ts";
import { remindHandler } from "./handlers/remind.ts";
import { extractInvoice, remindInvoice } from "./jobs.ts";
import { closeResources, openResources, type Resources } from "./resources.ts";
import { invoicesWeb } from "./web/routes.ts";

export const app: App = defineApp<Resources>({
  jobs: [extractInvoice, remindInvoice],
  tenantSetting: "invoices.account_id",
  resources: openResources,
  handlers: ({ doorbell, mailFrom }) => [extractHandler(doorbell, mailFrom), remindHandler(mailFrom)],
  web: invoicesWeb,
  close: closeResources,
});
