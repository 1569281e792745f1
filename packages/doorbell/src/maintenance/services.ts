// Which services keep a process maintained: heartbeat, sweeper, retention, ringer. The same in every role; what differs is
// what the process says of itself, and what it is in a position to do.
import type { Client } from "../client/client.ts";
import type { ProcessState } from "../store/maintenance.ts";
import type { Service } from "../worker/worker.ts";
import { heartbeat } from "./heartbeat.ts";
import { retention } from "./retention.ts";
import { ringer } from "./ringer.ts";
import { sweeper } from "./sweeper.ts";

export interface MaintenanceServicesOptions {
  readonly state: () => ProcessState;
  /** To wake after a sweep that rang, and to ring. */
  readonly lanes: readonly string[];
  readonly sweepEveryMs: number;
  /** The login may: it is a member of doorbell_worker. */
  readonly sweeps: boolean;
  /** Hands doorbells to the queue, where that is not the line itself. */
  readonly rings: boolean;
}

export function maintenanceServices(client: Client, options: MaintenanceServicesOptions): readonly Service[] {
  const { database, log, metrics, queue, waker } = client;
  const { lanes, sweepEveryMs } = options;
  const services: Service[] = [heartbeat(database, options.state, log)];
  if (options.sweeps) {
    const onRung = (): void => {
      for (const lane of lanes) waker.wake(lane);
    };
    services.push(sweeper({ tx: database, everyMs: sweepEveryMs, log, metrics, onRung }), retention(database, log));
  }
  if (options.rings && queue.capabilities.sent) {
    const rings = ringer(database, queue, lanes, log);
    waker.onWake(() => rings.wake());
    services.push(rings);
  }
  return services;
}
