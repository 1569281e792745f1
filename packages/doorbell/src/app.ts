// The application as the binary sees it: one module that says what there is to handle and to serve. Declared here, started
// by cli/start.ts.
import type { AnyJobDefinition } from "./core/definition.ts";
import type { Doorbell } from "./doorbell.ts";
import type { QueueDriver } from "./queue/driver.ts";
import type { Log } from "./telemetry/log.ts";
import type { Handler } from "./worker/handler.ts";

export type Role = "web" | "worker" | "all";

/** What the binary gives the application. */
export interface Runtime {
  readonly doorbell: Doorbell;
  readonly role: Role;
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
}

export interface AppOptions<Resources> {
  /** Every kind there is: so that the CLI knows them, and lanes are made. */
  readonly jobs: readonly AnyJobDefinition[];
  /** Made once a process, before handlers and web: the application's own pools and clients. */
  resources?(runtime: Runtime): Promise<Resources> | Resources;
  /** In the roles worker and all. */
  handlers(resources: Resources, runtime: Runtime): readonly Handler[];
  /** In the roles web and all: serves whatever the product does not (/healthz, /readyz, /metrics). */
  web?(resources: Resources, runtime: Runtime): { fetch(request: Request): Response | Promise<Response> };
  /** Called last, when nothing of the process uses the resources any more. */
  close?(resources: Resources): Promise<void> | void;
  /** Which version of the application this is, such as that of its package: dead letters tell which one failed them. */
  readonly version?: string;
  /** The setting that the application's own policies read, such as "app.tenant_id". */
  readonly tenantSetting?: string;
  /** Stands between the queue and everything: for tests and demonstrations. */
  wrapQueue?(driver: QueueDriver): QueueDriver;
}

// biome-ignore lint/suspicious/noExplicitAny: the resources are the application's own affair, from one of its functions to another.
export type App = AppOptions<any>;

/** Declares an application. Export it as `app` from the module that `doorbell start --app` is given. */
export function defineApp<Resources = undefined>(options: AppOptions<Resources>): App {
  return options;
}
