// Which services keep a process maintained: heartbeat, sweeper, retention, ringer. The same in every role; what differs is
// what the process says of itself, and what it is in a position to do.
import type { Client } from "../client/client.ts";
import type { ProcessState } from "../store/maintenance.ts";
import type { Service } from "../worker/worker.ts";
import { heartbeat } from "./heartbeat.ts";
import { retention } from "./retention.ts";
import { ringer } from "./ringer.ts";
import { sweeper } from "./sweeper.ts";
import { sweeperWatch } from "./sweeper-watch.ts";

export interface MaintenanceServicesOptions {
  readonly state: () => ProcessState;
  /** To wake after a sweep that rang, and to ring. */
  readonly lanes: readonly string[];
  readonly sweepEveryMs: number;
  /** The login may: it is a member of doorbell_worker. */
  readonly sweeps: boolean;
  /** Hands doorbells to the queue, where that is not the line itself. */
  readonly rings: boolean;
  /** Null: this process has no worker. */
  readonly worker: QueueWatcher | null;
}

/** What a worker sees of its queue. */
export interface QueueWatcher {
  /** Lanes of which it has free slots for, and finds nothing in the queue. */
  idleLanes(): readonly string[];
  /** How often the line is looked at, where nobody calls. */
  pollMs(): number;
  /** Calls when the queue has run empty. */
  onIdle(listener: () => void): void;
}

/** A process without a worker hears no wake-ups of others. What it enqueues itself it rings for at once. */
const pollWithoutWorkerMs = 1_000;

export function maintenanceServices(client: Client, options: MaintenanceServicesOptions): readonly Service[] {
  const { database, log, metrics, queue, waker } = client;
  const { lanes, sweepEveryMs } = options;
  const services: Service[] = [heartbeat(database, options.state, log)];
  if (options.sweeps) {
    const onRung = (): void => {
      for (const lane of lanes) waker.wake(lane);
    };
    const idleLanes = (): readonly string[] => options.worker?.idleLanes() ?? [];
    const sweeps = sweeper({ tx: database, everyMs: sweepEveryMs, log, metrics, idleLanes, onRung });
    options.worker?.onIdle(() => sweeps.wake());
    services.push(sweeps, retention(database, log));
  } else {
    services.push(sweeperWatch({ tx: database, log }));
  }
  if (options.rings && queue.capabilities.sent) {
    const everyMs = (): number => options.worker?.pollMs() ?? pollWithoutWorkerMs;
    const rings = ringer({ tx: database, queue, lanes, everyMs, log });
    const unsubscribe = waker.onWake(() => rings.wake());
    const stop = async (): Promise<void> => {
      unsubscribe();
      await rings.stop();
    };
    services.push({ ...rings, stop });
  }
  return services;
}
