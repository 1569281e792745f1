// A process of the binary: everything that the role asks for, brought up in an order in which each finds what it needs,
// and taken down in the reverse order. Signals and exit codes are not its business.
import { setTimeout as delay } from "node:timers/promises";
import type { App, Runtime } from "../app.ts";
import { type Settings, tenancyOptions } from "../config/settings.ts";
import { defaultLane } from "../core/definition.ts";
import { createDoorbell, type Doorbell } from "../doorbell.ts";
import { databaseProbe } from "../http/database-probe.ts";
import { pushRoute } from "../http/push.ts";
import { type FetchHandler, routes } from "../http/routes.ts";
import { listen } from "../http/server.ts";
import { exposeTable } from "../http/table-gauges.ts";
import { Database } from "../store/database.ts";
import { functionsNotGranted, valueMaxBytes } from "../store/inspect.ts";
import { kindStats } from "../store/maintenance.ts";
import { forEveryTenant } from "../store/tenancy.ts";
import type { Doorbell as Bell } from "../store/ticks.ts";
import type { Log } from "../telemetry/log.ts";
import { createMetrics } from "../telemetry/metrics.ts";
import type { Health } from "../worker/worker.ts";

export interface ProcessOptions {
  readonly app: App;
  readonly settings: Settings;
  readonly databaseUrl: string;
  readonly log: Log;
}

export interface RunningProcess {
  /** Where HTTP is served. */
  readonly port: number;
  /** Not ready any more, then idle, then closed. Safe to call twice: the second call waits for the first. */
  stop(): Promise<void>;
}

/** What the role does beside serving HTTP. */
interface Work {
  start(): Promise<void> | void;
  stop(): Promise<void>;
  health(): Health;
  /** Claims what doorbells name that were pushed. Absent: there are no handlers here. */
  push?(doorbells: readonly Bell[]): Promise<boolean>;
}

/** Resolves when it serves and works. Rejects with what kept it from that, after taking down what was up. */
export async function startProcess({ app, settings, databaseUrl, log }: ProcessOptions): Promise<RunningProcess> {
  const { role, host, graceMs } = settings;
  const takeDown: (() => Promise<void> | void)[] = [];
  let stopping = false;

  try {
    const metrics = createMetrics();
    takeDown.push(() => metrics.close());
    const doorbell = await createDoorbell({
      databaseUrl,
      queue: settings.queueUrl,
      objects: settings.objectsUrl,
      connectionsMax: settings.connectionsMax,
      valueMaxBytes: await limitSetIn(databaseUrl),
      ...tenancyOptions(settings),
      log,
      metrics,
      ...(app.tenantSetting !== undefined && { tenantSetting: app.tenantSetting }),
      ...(app.wrapQueue !== undefined && { wrapQueue: app.wrapQueue }),
    });
    takeDown.push(() => doorbell.close());
    await doorbell.client.ensureLanes(lanesOf(app));
    const { database, tenancy } = doorbell.client;
    exposeTable(metrics, () => forEveryTenant(database, tenancy, kindStats));

    const runtime: Runtime = { doorbell, role, env: { ...process.env, DATABASE_URL: databaseUrl }, log };
    const resources: unknown = await app.resources?.(runtime);
    takeDown.push(() => app.close?.(resources));
    const web: FetchHandler | null = role === "worker" ? null : (app.web?.(resources, runtime) ?? null);
    const work =
      role === "web" ? await maintain(doorbell, app, settings) : handle(doorbell, app, settings, resources, runtime);

    const postgresAnswers = databaseProbe(doorbell.client.database);
    const ready = async (): Promise<Health> => {
      const reasons = stopping ? ["the process is stopping"] : [...work.health().reasons];
      if (!(await postgresAnswers())) reasons.push("postgres does not answer");
      return { ready: reasons.length === 0, reasons };
    };
    const { pushSecret } = settings;
    const push = work.push === undefined || pushSecret === null ? null : pushRoute(pushSecret, work.push, metrics);
    const server = await listen(routes({ ready, metrics, push, log, web }), host, settings.port);
    takeDown.push(() => server.close(graceMs));
    takeDown.push(() => work.stop());
    await work.start();
    log.info("listening", { host, port: server.port });

    let stopped: Promise<void> | null = null;
    const stop = async (): Promise<void> => {
      stopping = true;
      await delay(settings.closeAfterMs);
      await runInReverse(takeDown);
    };
    return {
      port: server.port,
      stop: () => {
        stopped ??= stop();
        return stopped;
      },
    };
  } catch (error) {
    await runInReverse(takeDown).catch(() => {});
    throw error;
  }
}

function handle(doorbell: Doorbell, app: App, settings: Settings, resources: unknown, runtime: Runtime): Work {
  const idle = (settings.lanes ?? []).filter((lane) => !lanesOf(app).includes(lane));
  if (idle.length > 0)
    runtime.log.warn("the worker serves lanes that no kind of the application is on", { lanes: idle });
  const worker = doorbell.worker(app.handlers(resources, runtime), {
    role: settings.role,
    concurrency: settings.concurrency,
    lease: settings.leaseMs,
    grace: settings.graceMs,
    poll: settings.pollMs,
    sweepEvery: settings.sweepEveryMs,
    ...appVersionOf(app, settings),
    allowPrivateWebhooks: settings.webhookAllowPrivate,
    secretKeys: settings.secretKeys ?? [],
    ...(settings.lanes !== null && { lanes: settings.lanes }),
    ...(settings.directDatabaseUrl !== null && { directDatabaseUrl: settings.directDatabaseUrl }),
    ...(settings.smtpUrl !== null && { smtpUrl: settings.smtpUrl }),
  });
  return {
    start: () => worker.start(),
    stop: () => worker.drain(),
    health: () => worker.health(),
    push: (doorbells) => worker.push(doorbells),
  };
}

/** The variable wins: whoever deploys knows better than what was built. */
function appVersionOf({ version }: App, { appVersion }: Settings): { readonly appVersion?: string } {
  const told = appVersion ?? version;
  return told === undefined ? {} : { appVersion: told };
}

async function maintain(doorbell: Doorbell, app: App, settings: Settings): Promise<Work> {
  const { client, log } = doorbell;
  const sweeps = (await functionsNotGranted(client.database, ["sweep"])).length === 0;
  if (!sweeps) log.info("this login may not sweep: that is left to the workers");
  const maintenance = doorbell.maintenance({
    role: settings.role,
    sweepEvery: settings.sweepEveryMs,
    sweeps,
    lanes: lanesOf(app),
  });
  return {
    start: () => maintenance.start(),
    stop: () => maintenance.stop(),
    health: () => ({ ready: true, reasons: [] }),
  };
}

/** Read once, at the start: a process does not follow a change of it. */
async function limitSetIn(databaseUrl: string): Promise<number> {
  const database = new Database({ url: databaseUrl, max: 1, name: "doorbell" });
  try {
    return await valueMaxBytes(database);
  } finally {
    await database.close();
  }
}

function lanesOf(app: App): readonly string[] {
  return [...new Set([defaultLane, ...app.jobs.map((job) => job.lane)])];
}

/** All of them, also after one that fails: what is left open would keep the process alive. Throws the first error. */
async function runInReverse(steps: (() => Promise<void> | void)[]): Promise<void> {
  const errors: unknown[] = [];
  for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
    try {
      await step();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}
