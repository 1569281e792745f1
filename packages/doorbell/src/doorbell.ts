// What an application holds: a client, and workers that bring their maintenance with them. It joins the layers, and does
// nothing itself.
import { hostname } from "node:os";
import { type Client, type DoorbellOptions, openClient } from "./client/client.ts";
import { defaultLane } from "./core/definition.ts";
import { type Duration, toMs } from "./core/duration.ts";
import { newId } from "./core/ids.ts";
import { maintenanceServices } from "./maintenance/services.ts";
import { type SweepReport, sweepOnce } from "./maintenance/sweeper.ts";
import type { ProcessState } from "./store/maintenance.ts";
import { version } from "./version.ts";
import type { Handler } from "./worker/handler.ts";
import { createWorker, type Service, type Worker, type WorkerOptions } from "./worker/worker.ts";

export interface MaintainedWorkerOptions extends Omit<WorkerOptions, "services" | "byHand" | "onEnd" | "watch"> {
  /** How the process calls itself in the table of workers. Default "worker". */
  readonly role?: string;
  /** From one sweep to the next. Default 5 s. */
  readonly sweepEvery?: Duration;
  /** Which version of the application this is: dead letters tell it. */
  readonly appVersion?: string;
}

export interface MaintenanceOptions {
  /** How the process calls itself in the table of workers. Default "web". */
  readonly role?: string;
  /** From one sweep to the next. Default 5 s. */
  readonly sweepEvery?: Duration;
  /** Default true. False for a login that may not sweep, being no member of doorbell_worker: a heartbeat is all then. */
  readonly sweeps?: boolean;
  /** The lanes of the application's kinds. Default: the default lane. */
  readonly lanes?: readonly string[];
}

export interface Doorbell
  extends Pick<
    Client,
    "enqueue" | "enqueueMany" | "emit" | "transaction" | "clamp" | "objects" | "log" | "metrics" | "close"
  > {
  /** A worker with its sweeper, retention, ringer and heartbeat. Nothing happens before its `start()`. Throws option_invalid. */
  worker(handlers: readonly Handler[], options?: MaintainedWorkerOptions): Worker;
  /** The same maintenance for a process without a worker. Throws option_invalid. */
  maintenance(options?: MaintenanceOptions): Service;
  /** One look for lost doorbells and expired leases, now. For a login that may: a member of doorbell_worker. */
  sweep(): Promise<SweepReport>;
  /** The client beneath, for those who build on it. */
  readonly client: Client;
}

/** Opens a client; it connects at the first use. Throws option_invalid, objects_unavailable. */
export async function createDoorbell(options: DoorbellOptions): Promise<Doorbell> {
  const client = await openClient(options);
  return {
    client,
    objects: client.objects,
    log: client.log,
    metrics: client.metrics,
    enqueue: client.enqueue.bind(client),
    enqueueMany: client.enqueueMany.bind(client),
    emit: client.emit.bind(client),
    transaction: client.transaction.bind(client),
    clamp: client.clamp.bind(client),
    close: client.close.bind(client),
    sweep: () => sweepOnce(client.database),
    worker: (handlers, workerOptions = {}) => {
      const { role = "worker", sweepEvery = "5s", appVersion = null, ...rest } = workerOptions;
      const sweepEveryMs = toMs(sweepEvery, "sweepEvery");
      return createWorker(client, handlers, {
        ...rest,
        services: (worker) =>
          maintenanceServices(client, {
            state: () => stateOf(worker, role, appVersion),
            lanes: worker.lanes,
            sweepEveryMs,
            sweeps: true,
            rings: true,
            worker,
          }),
      });
    },
    maintenance: (maintenanceOptions = {}) => {
      const { role = "web", sweepEvery = "5s", sweeps = true, lanes = [defaultLane] } = maintenanceOptions;
      const state = stateWithoutWorker(role);
      return together(
        "maintenance",
        maintenanceServices(client, {
          state: () => state,
          lanes,
          sweepEveryMs: toMs(sweepEvery, "sweepEvery"),
          sweeps,
          worker: null,
          // Into a queue in this process nobody else would see it, and here nobody takes it out.
          rings: sweeps && !client.queue.capabilities.inProcess,
        }),
      );
    },
  };
}

const processFacts = { host: hostname(), pid: process.pid, version };

function stateOf(worker: Worker, role: string, appVersion: string | null): ProcessState {
  const { id, kinds, lanes, concurrency: slots, running, draining, doorbellsDropped } = worker;
  return { ...processFacts, id, role, kinds, lanes, slots, running, draining, doorbellsDropped, appVersion };
}

function stateWithoutWorker(role: string): ProcessState {
  const id = `${processFacts.host.slice(0, 60)}:${process.pid}:${newId().slice(-8)}`;
  const idle = { kinds: [], lanes: [], slots: 0, running: 0, draining: false, doorbellsDropped: 0, appVersion: null };
  return { ...processFacts, ...idle, id, role };
}

/** Started and stopped like one. */
function together(name: string, services: readonly Service[]): Service {
  return {
    name,
    start: () => {
      for (const service of services) service.start();
    },
    stop: async () => {
      await Promise.all(services.map((service) => service.stop()));
    },
  };
}
