// From a URL to a driver. The one place that knows which there are. A driver's file is loaded when its URL is used, and the
// libraries it needs with it.
import { DoorbellError } from "../core/errors.ts";
import type { Tx } from "../store/database.ts";
import type { QueueDriver } from "./driver.ts";

type Open = (url: string, tx: Tx) => Promise<QueueDriver>;

const rabbitmq: Open = async (url) => (await import("./rabbitmq.ts")).rabbitmqDriver({ url });
const redis: Open = async (url) => (await import("./redis.ts")).redisDriver({ url });

/** By the URL's scheme. */
const openers: Readonly<Record<string, Open>> = {
  postgres: async (_, tx) => (await import("./postgres.ts")).postgresDriver(tx),
  redis,
  rediss: redis,
  nats: async (url) => (await import("./nats.ts")).natsDriver({ url }),
  amqp: rabbitmq,
  amqps: rabbitmq,
  sqs: async (url) => (await import("./sqs.ts")).sqsDriver({ url }),
  memory: async () => (await import("./memory.ts")).memoryDriver(),
};

export const queueSchemes: readonly string[] = Object.keys(openers);

/**
 * Does not connect. Throws DoorbellError option_invalid, naming the choices, and peer_missing where the library is not
 * installed. A URL may hold a password and is never told.
 */
export async function openQueueDriver(url: string, tx: Tx): Promise<QueueDriver> {
  const scheme = /^([a-z]+):/.exec(url)?.[1] ?? "";
  const open = Object.hasOwn(openers, scheme) ? openers[scheme] : undefined;
  if (open !== undefined) return await open(url, tx);
  const choices = queueSchemes.map((one) => `${one}:`).join(", ");
  throw new DoorbellError("option_invalid", `there is no queue driver for this URL; choose one of ${choices}`);
}
