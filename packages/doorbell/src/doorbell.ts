// What an application holds: a client, and workers that bring their maintenance with them. It joins the layers, and does
// nothing itself.
import { hostname } from "node:os";
import { type Client, type DoorbellOptions, openClient } from "./client/client.ts";
import { type Duration, toMs } from "./core/duration.ts";
import { heartbeat } from "./maintenance/heartbeat.ts";
import { retention } from "./maintenance/retention.ts";
import { ringer } from "./maintenance/ringer.ts";
import { sweeper } from "./maintenance/sweeper.ts";
import { version } from "./version.ts";
import type { Handler } from "./worker/handler.ts";
import { createWorker, type Service, type Worker, type WorkerOptions } from "./worker/worker.ts";

export interface MaintainedWorkerOptions extends Omit<WorkerOptions, "services"> {
  /** How the process calls itself in the table of workers. Default "worker". */
  readonly role?: string;
  /** From one sweep to the next. Default 5 s. */
  readonly sweepEvery?: Duration;
}

export interface Doorbell
  extends Pick<Client, "enqueue" | "enqueueMany" | "transaction" | "clamp" | "objects" | "log" | "metrics" | "close"> {
  /** A worker with its sweeper, retention, ringer and heartbeat. Nothing happens before its `start()`. Throws option_invalid. */
  worker(handlers: readonly Handler[], options?: MaintainedWorkerOptions): Worker;
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
    transaction: client.transaction.bind(client),
    clamp: client.clamp.bind(client),
    close: client.close.bind(client),
    worker: (handlers, workerOptions = {}) => {
      const { role = "worker", sweepEvery = "5s", ...rest } = workerOptions;
      const sweepEveryMs = toMs(sweepEvery, "sweepEvery");
      return createWorker(client, handlers, {
        ...rest,
        services: (worker) => servicesFor(client, worker, role, sweepEveryMs),
      });
    },
  };
}

function servicesFor(client: Client, worker: Worker, role: string, sweepEveryMs: number): readonly Service[] {
  const { database, log, metrics, queue, waker } = client;
  const wakeAll = (): void => {
    for (const lane of worker.lanes) waker.wake(lane);
  };
  const services: Service[] = [
    heartbeat(
      database,
      () => ({
        id: worker.id,
        role,
        host: hostname(),
        pid: process.pid,
        version,
        kinds: worker.kinds,
        lanes: worker.lanes,
        slots: worker.concurrency,
        running: worker.running,
        draining: worker.draining,
        doorbellsDropped: worker.doorbellsDropped,
      }),
      log,
    ),
    sweeper({ tx: database, everyMs: sweepEveryMs, log, metrics, onRung: wakeAll }),
    retention(database, log),
  ];
  if (!queue.capabilities.line) {
    const rings = ringer(database, queue, worker.lanes, log);
    waker.onWake(() => rings.wake());
    services.push(rings);
  }
  return services;
}
