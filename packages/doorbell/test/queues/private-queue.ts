// A queue of one run's own on a broker that others use too: the URL with names that nobody else has, and how to remove what
// the driver makes under them. For the demo and the bench, which must neither be given others' doorbells nor leave theirs.
import { DeleteQueueCommand, GetQueueUrlCommand, SQSClient } from "@aws-sdk/client-sqs";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect as connectNats } from "@nats-io/transport-node";
import { connect as connectAmqp } from "amqplib";
import { Redis } from "ioredis";

export interface PrivateQueue {
  readonly url: string;
  /** Deletes the default lane's queue, and what is in it. Rejects when the broker does not answer. */
  remove(): Promise<void>;
}

type Make = (url: URL, name: string) => () => Promise<void>;

/** By the URL's scheme. Each puts the names into the URL. They begin as the default ones do, for logins that may no more. */
const makers: Readonly<Record<string, Make>> = {
  redis: redisQueue,
  rediss: redisQueue,
  nats: natsQueue,
  amqp: rabbitmqQueue,
  amqps: rabbitmqQueue,
  sqs: sqsQueue,
};

const withinMs = 5_000;
const lane = "default";

/** `name`: letters, digits and dashes. What is no broker's URL comes back as it is, and has nothing to remove. */
export function privateQueue(url: string, name: string): PrivateQueue {
  const scheme = /^([a-z]+):/.exec(url)?.[1] ?? "";
  const make = Object.hasOwn(makers, scheme) && URL.canParse(url) ? makers[scheme] : undefined;
  if (make === undefined) return { url, remove: async () => {} };
  const own = new URL(url);
  const remove = make(own, name);
  return { url: own.href, remove };
}

function redisQueue(url: URL, name: string): () => Promise<void> {
  const key = `${url.searchParams.get("prefix") ?? "doorbell:"}${name}:`;
  url.searchParams.set("prefix", key);
  return async () => {
    const server = new URL(url);
    server.search = "";
    const client = new Redis(server.href, { connectTimeout: withinMs, retryStrategy: null, lazyConnect: true });
    client.on("error", () => {});
    try {
      await client.connect();
      await client.del(`${key}${lane}`);
    } finally {
      client.disconnect();
    }
  };
}

function natsQueue(url: URL, name: string): () => Promise<void> {
  const stream = `${url.searchParams.get("stream") ?? "doorbell"}-${name}`;
  url.searchParams.set("stream", stream);
  url.searchParams.set("subject", `${url.searchParams.get("subject") ?? "doorbell"}-${name}`);
  return async () => {
    const [user, pass] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
    const login = pass !== "" ? { user, pass } : user !== "" ? { token: user } : {};
    const connection = await connectNats({ servers: [url.host], reconnect: false, timeout: withinMs, ...login });
    try {
      await (await jetstreamManager(connection)).streams.delete(stream);
    } finally {
      await connection.close();
    }
  };
}

function rabbitmqQueue(url: URL, name: string): () => Promise<void> {
  const prefix = `${url.searchParams.get("prefix") ?? "doorbell"}.${name}`;
  url.searchParams.set("prefix", prefix);
  return async () => {
    const server = new URL(url);
    server.search = "";
    const connection = await connectAmqp(server.href, { timeout: withinMs });
    connection.on("error", () => {});
    try {
      const channel = await connection.createChannel();
      channel.on("error", () => {});
      await channel.deleteQueue(`${prefix}.${lane}`);
    } finally {
      await connection.close().catch(() => {});
    }
  };
}

function sqsQueue(url: URL, name: string): () => Promise<void> {
  url.pathname = `${url.pathname.replace(/\/$/, "")}-${name}`;
  return async () => {
    const endpoint = url.searchParams.get("endpoint");
    const region = url.searchParams.get("region") ?? /^sqs\.([a-z0-9-]+)\./.exec(url.host)?.[1];
    const client = new SQSClient({
      maxAttempts: 1,
      ...(region !== undefined && { region }),
      ...(endpoint !== null && { endpoint, useQueueUrlAsEndpoint: false }),
    });
    const [QueueName = "", QueueOwnerAWSAccountId] = url.pathname.split("/").filter(Boolean).reverse();
    const ofAccount = QueueOwnerAWSAccountId === undefined ? {} : { QueueOwnerAWSAccountId };
    try {
      const { QueueUrl } = await client.send(new GetQueueUrlCommand({ QueueName, ...ofAccount }));
      await client.send(new DeleteQueueCommand({ QueueUrl }));
    } finally {
      client.destroy();
    }
  };
}
