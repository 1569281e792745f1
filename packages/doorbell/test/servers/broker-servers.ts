// The servers that queue drivers speak to, by the driver's name: where they can be had, and started as they come.
import { haveNats, startNats } from "./nats.ts";
import { haveRabbitmq, startRabbitmq } from "./rabbitmq.ts";
import { haveRedis, startRedis } from "./redis.ts";
import { startSqs } from "./sqs.ts";

export interface RunningServer {
  readonly url: string;
  close(): Promise<void>;
}

export interface BrokerServerKind {
  /** What has to be there, for a person. */
  readonly program: string;
  /** After an attempt to install it. */
  isThere(): boolean;
  start(): Promise<RunningServer>;
}

export type BrokerName = "redis" | "nats" | "rabbitmq" | "sqs";

export const brokerServers: Readonly<Record<BrokerName, BrokerServerKind>> = {
  redis: { program: "redis-server", isThere: haveRedis, start: startRedis },
  nats: { program: "nats-server", isThere: haveNats, start: startNats },
  rabbitmq: { program: "rabbitmq-server", isThere: haveRabbitmq, start: startRabbitmq },
  sqs: { program: "the emulator of SQS", isThere: () => true, start: startSqs },
};
