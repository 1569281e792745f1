// The servers of queues, for the row that measures Doorbell over each: started when they are first asked for, on loopback, in
// private folders, and gone with the bench.

import { privateQueue } from "../packages/doorbell/test/queues/private-queue.ts";
import {
  type BrokerName,
  brokerServers,
  type RunningServer,
} from "../packages/doorbell/test/servers/broker-servers.ts";
import { NotThere } from "./row.ts";

export class Brokers {
  readonly #servers = new Map<BrokerName, Promise<RunningServer>>();
  #queues = 0;

  /** Of names that nobody has used yet: what one measurement leaves in the broker is nobody else's. */
  async freshQueue(name: BrokerName): Promise<string> {
    const starting = this.#servers.get(name) ?? start(name);
    this.#servers.set(name, starting);
    const { url } = await starting;
    this.#queues += 1;
    return privateQueue(url, `bench-${this.#queues}`).url;
  }

  async close(): Promise<void> {
    const started = await Promise.allSettled(this.#servers.values());
    for (const one of started) if (one.status === "fulfilled") await one.value.close();
  }
}

async function start(name: BrokerName): Promise<RunningServer> {
  const { isThere, program, start } = brokerServers[name];
  if (!isThere()) throw new NotThere(`${program} is not there, and could not be installed`);
  return await start();
}
