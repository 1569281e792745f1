// The contenders, by name. Loading one loads the system itself, so only a contender's own process does that.

import type { BrokerName } from "../../packages/doorbell/test/servers/broker-servers.ts";
import type { Contender } from "../contender.ts";

type Load = (queueUrl?: string) => Promise<Contender>;

const doorbellOver =
  (broker: BrokerName): Load =>
  async (queueUrl) =>
    (await import("./doorbell.ts")).doorbellOver(broker, queueUrl);

const load = {
  doorbell: async (): Promise<Contender> => (await import("./doorbell.ts")).doorbell,
  "doorbell-unforced": async (): Promise<Contender> => (await import("./doorbell.ts")).doorbellUnforced,
  "doorbell-signed": async (): Promise<Contender> => (await import("./doorbell.ts")).doorbellSigned,
  "doorbell-one-by-one": async (): Promise<Contender> => (await import("./doorbell.ts")).doorbellOneByOne,
  "doorbell-redis": doorbellOver("redis"),
  "doorbell-nats": doorbellOver("nats"),
  "doorbell-rabbitmq": doorbellOver("rabbitmq"),
  "doorbell-sqs": doorbellOver("sqs"),
  "graphile-worker": async (): Promise<Contender> => (await import("./graphile-worker.ts")).graphileWorker,
  "graphile-worker-tuned": async (): Promise<Contender> => (await import("./graphile-worker.ts")).graphileWorkerTuned,
  "pg-boss": async (): Promise<Contender> => (await import("./pg-boss.ts")).pgBoss,
};

export type ContenderName = keyof typeof load;

/** In the order of the table; the first is the one that the others are compared with. */
export const contenderNames = Object.keys(load) as readonly ContenderName[];

/** `queueUrl`: what carries the doorbells of a contender over a broker. */
export const loadContender = (name: ContenderName, queueUrl?: string): Promise<Contender> => {
  const one: Load = load[name];
  return one(queueUrl);
};
