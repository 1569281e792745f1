// The brokers as the tests of whole systems have them: a server of its own each, that can be stopped; fresh names; and, past
// the driver, how many doorbells are in it, a way to put anything in, and two to lose everything.
import {
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  PurgeQueueCommand,
  SendMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect as connectNats } from "@nats-io/transport-node";
import { type ConfirmChannel, connect as connectAmqp } from "amqplib";
import { startFauxqs } from "fauxqs";
import { Redis } from "ioredis";
import { newId } from "../../src/core/ids.ts";
import { haveNats, startNats } from "../servers/nats.ts";
import { haveRabbitmq, startRabbitmq } from "../servers/rabbitmq.ts";
import { haveRedis, startRedis } from "../servers/redis.ts";

/** The default lane under fresh names. */
export interface Broker {
  readonly url: string;
  /** Messages that nobody has received; with those that somebody has, where the server tells. */
  depth(): Promise<number>;
  /** Puts raw messages in. How many: there may be some that this broker does not take. */
  inject(messages: readonly Uint8Array[]): Promise<number>;
  /** Deletes what is in it. */
  purge(): Promise<void>;
  /** Deletes the queue as well, with groups and consumers. */
  remove(): Promise<void>;
}

export interface BrokerServer {
  broker(): Broker;
  stop(): Promise<void>;
  /** On the same address. */
  start(): Promise<void>;
  close(): Promise<void>;
}

export interface BrokerKind {
  readonly name: "redis" | "nats" | "rabbitmq" | "sqs";
  /** After an attempt to install it. */
  isThere(): boolean;
  start(): Promise<BrokerServer>;
}

const lane = "default";
const freshName = (): string => `test-${newId()}`;

export const brokers: readonly BrokerKind[] = [
  { name: "redis", isThere: haveRedis, start: startRedisBroker },
  { name: "nats", isThere: haveNats, start: startNatsBroker },
  { name: "rabbitmq", isThere: haveRabbitmq, start: startRabbitmqBroker },
  { name: "sqs", isThere: () => true, start: startSqsBroker },
];

async function startRedisBroker(): Promise<BrokerServer> {
  const server = await startRedis();
  const admin = new Redis(server.url);
  admin.on("error", () => {});
  return {
    stop: server.stop,
    start: server.start,
    close: async () => {
      admin.disconnect();
      await server.close();
    },
    broker: () => {
      const prefix = `${freshName()}:`;
      const key = `${prefix}${lane}`;
      return {
        url: `${server.url}?prefix=${prefix}`,
        depth: () => admin.xlen(key),
        inject: async (messages) => {
          for (const bytes of messages) await admin.xadd(key, "*", "doorbell", Buffer.from(bytes));
          return messages.length;
        },
        purge: async () => void (await admin.xtrim(key, "MAXLEN", 0)),
        remove: async () => void (await admin.flushall()),
      };
    },
  };
}

async function startNatsBroker(): Promise<BrokerServer> {
  const server = await startNats();
  const { username: user, password: pass, host } = new URL(server.url);
  const admin = await connectNats({ servers: [host], user, pass, maxReconnectAttempts: -1, reconnectTimeWait: 100 });
  return {
    stop: server.stop,
    start: server.start,
    close: async () => {
      await admin.close();
      await server.close();
    },
    broker: () => {
      const name = freshName();
      const streams = async () => (await jetstreamManager(admin)).streams;
      return {
        url: `${server.url}?stream=${name}&subject=${name}`,
        depth: async () => (await (await streams()).info(name)).state.messages,
        inject: async (messages) => {
          for (const bytes of messages) admin.publish(`${name}.${lane}`, bytes);
          await admin.flush();
          return messages.length;
        },
        purge: async () => void (await (await streams()).purge(name)),
        remove: async () => void (await (await streams()).delete(name)),
      };
    },
  };
}

async function startRabbitmqBroker(): Promise<BrokerServer> {
  const server = await startRabbitmq();
  /** On a connection of its own: the server may have been away. */
  const onChannel = async <T>(run: (channel: ConfirmChannel) => Promise<T>): Promise<T> => {
    const connection = await connectAmqp(server.url);
    connection.on("error", () => {});
    try {
      return await run(await connection.createConfirmChannel());
    } finally {
      await connection.close();
    }
  };
  return {
    stop: server.stop,
    start: server.start,
    close: server.close,
    broker: () => {
      const prefix = freshName();
      const queue = `${prefix}.${lane}`;
      return {
        url: `${server.url}?prefix=${prefix}`,
        depth: () => onChannel(async (channel) => (await channel.checkQueue(queue)).messageCount),
        inject: (messages) =>
          onChannel(async (channel) => {
            for (const bytes of messages) channel.sendToQueue(queue, Buffer.from(bytes));
            await channel.waitForConfirms();
            return messages.length;
          }),
        purge: () => onChannel(async (channel) => void (await channel.purgeQueue(queue))),
        remove: () => onChannel(async (channel) => void (await channel.deleteQueue(queue))),
      };
    },
  };
}

async function startSqsBroker(): Promise<BrokerServer> {
  // The SDK asks for some; the emulator takes any.
  process.env["AWS_ACCESS_KEY_ID"] ??= "test";
  process.env["AWS_SECRET_ACCESS_KEY"] ??= "test";
  let emulator = await startFauxqs({ port: 0, host: "127.0.0.1", logger: false });
  const { port, address: endpoint } = emulator;
  const client = new SQSClient({ region: "eu-central-1", endpoint });
  const start = async (): Promise<void> => {
    emulator = await startFauxqs({ port, host: "127.0.0.1", logger: false });
  };
  const stop = async (): Promise<void> => void (await emulator.stop());
  return {
    stop,
    start,
    close: async () => {
      client.destroy();
      await stop();
    },
    broker: () => {
      const QueueName = freshName();
      const queueUrl = async () => (await client.send(new GetQueueUrlCommand({ QueueName }))).QueueUrl;
      return {
        url: `sqs://sqs.eu-central-1.amazonaws.com/000000000000/${QueueName}?endpoint=http://127.0.0.1:${port}`,
        depth: async () => {
          const names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"] as const;
          const request = { QueueUrl: await queueUrl(), AttributeNames: [...names] };
          const { Attributes } = await client.send(new GetQueueAttributesCommand(request));
          return names.reduce((sum, name) => sum + Number(Attributes?.[name]), 0);
        },
        inject: async (messages) => {
          const QueueUrl = await queueUrl();
          const send = (bytes: Uint8Array) =>
            client.send(new SendMessageCommand({ QueueUrl, MessageBody: Buffer.from(bytes).toString() }));
          const sent = await Promise.allSettled(messages.map(send));
          return sent.filter(({ status }) => status === "fulfilled").length;
        },
        purge: async () => void (await client.send(new PurgeQueueCommand({ QueueUrl: await queueUrl() }))),
        remove: async () => void (await client.send(new DeleteQueueCommand({ QueueUrl: await queueUrl() }))),
      };
    },
  };
}
