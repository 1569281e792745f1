// RabbitMQ against the conformance suite, on a server of its own, and what is particular to it.
import { once } from "node:events";
import { type AddressInfo, connect as connectSocket, createServer, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { inspect } from "node:util";
import { connect } from "amqplib";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { defineJob, handle, newId } from "../../src/index.ts";
import type { Delivery, Doorbell } from "../../src/queue/driver.ts";
import { rabbitmqDriver } from "../../src/queue/rabbitmq.ts";
import { queueFaultTests } from "../../src/testing/queue-faults.ts";
import {
  collect,
  doorbells,
  type QueuePlace,
  type QueueUnderTest,
  receiveSome,
  suiteLanes,
} from "../../src/testing/queue-place.ts";
import { queueTests } from "../../src/testing/queue-suite.ts";
import { haveRabbitmq, type RabbitmqServer, startRabbitmq } from "../servers/rabbitmq.ts";
import { eventually, Stage } from "../support.ts";

const isThere = haveRabbitmq();
if (!isThere && process.env["CI"] === "true") throw new Error("rabbitmq-server is not there, and cannot be installed");

const redeliverMs = 2_000;
const never = new AbortController().signal;
/** As the driver's documentation says that they are declared: a server refuses to declare them otherwise. */
const declared = { durable: true, arguments: { "x-queue-type": "quorum", "x-delivery-limit": 20 } };

describe.skipIf(!isThere)("rabbitmq (Debian's rabbitmq-server)", () => {
  let server: RabbitmqServer;
  beforeAll(async () => {
    server = await startRabbitmq();
  }, 70_000);
  afterAll(() => server?.close());

  const urlOf = (prefix: string): string => `${server.url}?prefix=${prefix}&redeliver=${redeliverMs}ms`;

  async function withChannel<T>(run: (channel: Awaited<ReturnType<typeof openChannel>>["channel"]) => Promise<T>) {
    const { connection, channel } = await openChannel();
    try {
      return await run(channel);
    } finally {
      await connection.close();
    }
  }
  async function openChannel() {
    const connection = await connect(server.url);
    connection.on("error", () => {});
    return { connection, channel: await connection.createConfirmChannel() };
  }
  const wipe = (prefix: string) =>
    withChannel(async (channel) => {
      for (const lane of Object.values(suiteLanes)) await channel.deleteQueue(`${prefix}.${lane}`);
    });

  async function place(): Promise<QueuePlace> {
    const prefix = `test-${newId()}`;
    return {
      redeliverMs,
      open: () => rabbitmqDriver({ url: urlOf(prefix) }),
      inject: (lane, bytes) =>
        withChannel(async (channel) => {
          await channel.assertQueue(`${prefix}.${lane}`, declared);
          channel.sendToQueue(`${prefix}.${lane}`, Buffer.from(bytes));
          await channel.waitForConfirms();
          return true;
        }),
      wipe: () => wipe(prefix),
      server,
      close: () => wipe(prefix),
    };
  }

  const rabbitmq: QueueUnderTest = { lacks: {}, place };
  for (const { title, skip, alone, run } of [...queueTests(rabbitmq), ...queueFaultTests(rabbitmq)])
    (alone ? test : test.concurrent)(title, (it) => (skip === null ? run() : it.skip(skip)), 120_000);

  /** A driver that is closed, and its queues that are deleted, with the test. */
  async function open(settings: string, prefix = `test-${newId()}`) {
    const driver = await rabbitmqDriver({ url: `${server.url}?prefix=${prefix}&${settings}` });
    onTestFinished(async () => {
      await driver.close();
      await wipe(prefix);
    });
    return { driver, queue: `${prefix}.${suiteLanes.main}` };
  }
  const waiting = (queue: string) => withChannel(async (channel) => (await channel.checkQueue(queue)).messageCount);

  test("what nobody ever acknowledges leaves when its deliveries are used up", async () => {
    const { driver, queue } = await open("redeliver=200ms&deliveryLimit=2");
    await driver.send(suiteLanes.main, doorbells(3));
    const copies = new Map<string, number>();
    const onDelivery = ({ body }: Delivery): void => {
      const { job_id } = body as Doorbell;
      copies.set(job_id, (copies.get(job_id) ?? 0) + 1);
    };
    await eventually("the queue to be empty", async () => {
      const { size } = await collect(driver, { forMs: 500, ack: false, onDelivery });
      return size === 0 && (await waiting(queue)) === 0;
    });
    expect(copies.size).toBe(3);
    // The server counts a delivery that has crossed with the end of its consumer, and that nobody saw.
    for (const count of copies.values()) expect(count).toBeLessThanOrEqual(3);
    expect(Math.max(...copies.values())).toBeGreaterThanOrEqual(2);
  });

  test("a lane that two processes use for the first time at once works for both", async () => {
    for (let round = 0; round < 20; round += 1) {
      const prefix = `test-${newId()}`;
      const [sender, receiver] = [await open("redeliver=1h", prefix), await open("redeliver=1h", prefix)];
      const receiving = collect(receiver.driver, { count: 3 });
      await sender.driver.send(suiteLanes.main, doorbells(3));
      expect((await receiving).size).toBe(3);
    }
  });

  test("from the enqueue over RabbitMQ to a worker: each job is done once, and no message is left", async () => {
    await using stage = await Stage.open();
    const prefix = `test-${newId()}`;
    onTestFinished(() => wipe(prefix));
    const doorbell = await stage.client({ queue: urlOf(prefix) });
    const work = defineJob({ kind: "work" });
    const ran: string[] = [];
    await stage.worker(doorbell, [handle(work, (job) => void ran.push(job.id))]);
    const items = Array.from({ length: 200 }, (_, n) => ({ job: work, tenant: `t${n % 5}` }));
    const receipts = await doorbell.enqueueMany(items);
    await eventually("all jobs to be done", () => ran.length >= 200);
    expect(ran.sort()).toEqual(receipts.map(({ id }) => id).sort());
    await eventually("the messages to be gone", async () => (await waiting(`${prefix}.default`)) === 0);
  });

  test("nothing is held back by a driver that asks no more: another has all of the rest at once", async () => {
    const prefix = `test-${newId()}`;
    const [one, other] = [await open("redeliver=1h", prefix), await open("redeliver=1h", prefix)];
    await one.driver.send(suiteLanes.main, doorbells(50));
    const mine = await one.driver.receive({ lanes: [suiteLanes.main], max: 3, waitMs: 5_000, signal: never });
    expect(mine).toHaveLength(3);
    expect((await collect(other.driver, { count: 47, forMs: 2_000 })).size).toBe(47);
  });

  test("an acknowledgement of what came before the connection was lost is no error, and takes nothing away", async () => {
    const { driver } = await open("redeliver=1h");
    const proxy = await startProxy(Number(new URL(server.url).port));
    onTestFinished(() => proxy.close());
    const url = new URL(server.url);
    url.port = String(proxy.port);
    const cutOff = await rabbitmqDriver({ url: `${url.href}?prefix=${`test-${newId()}`}` });
    onTestFinished(() => cutOff.close());
    await cutOff.send(suiteLanes.main, doorbells(4));
    const before = await receiveSome(cutOff);
    const receiving = cutOff.receive({ lanes: [suiteLanes.second], max: 1, waitMs: 60_000, signal: never });
    await delay(200);
    proxy.cut();
    await expect(receiving).rejects.toThrow();
    await cutOff.ack(before);
    expect((await collect(cutOff, { count: 4 })).size).toBe(4);
    await driver.ack(before);
  });

  test("a queue that somebody has declared otherwise is left alone, and the error says what differs", async () => {
    const { driver, queue } = await open("redeliver=1h");
    await withChannel((channel) => channel.assertQueue(queue, { durable: true }));
    await expect(driver.send(suiteLanes.main, doorbells(1))).rejects.toMatchObject({
      code: "queue_unavailable",
      message: expect.stringContaining("x-queue-type"),
    });
  });

  test("with create=0 it declares nothing: a queue that is not there is an error, one that is made by others is used", async () => {
    const { driver, queue } = await open("create=0");
    await expect(driver.send(suiteLanes.main, doorbells(1))).rejects.toMatchObject({ code: "queue_unavailable" });
    await expect(receiveSome(driver)).rejects.toThrow("no queue");
    await withChannel((channel) => channel.assertQueue(queue, { durable: true }));
    await driver.send(suiteLanes.main, doorbells(1));
    expect((await collect(driver, { count: 1 })).size).toBe(1);
  });

  test("no error tells the password", async () => {
    const wrong = server.url.replace(server.password, "pa55-w0rd");
    const driver = await rabbitmqDriver({ url: wrong });
    onTestFinished(() => driver.close());
    const refused = await driver.send(suiteLanes.main, doorbells(1)).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "queue_unavailable", message: expect.stringContaining("ACCESS") });
    expect(inspect(refused, { depth: 10 })).not.toContain("pa55-w0rd");
  });
});

test("a URL that makes no sense is refused, and not repeated", async () => {
  const secret = "pa55-w0rd";
  const urls: readonly (readonly [query: string, why: string])[] = [
    ["?prefx=a", "it has no setting prefx; there are prefix, redeliver, deliveryLimit, create, heartbeat"],
    ["?prefix=amq.a", "prefix is not"],
    ["?prefix=a%20b", "prefix is not"],
    ["?redeliver=soon", "redeliver is not a duration"],
    ["?redeliver=1ms", "redeliver is not from 100ms to 1h"],
    ["?deliveryLimit=0", "deliveryLimit is not a whole number"],
    ["?create=no", "create is neither 0 nor 1"],
  ];
  for (const [query, why] of urls) {
    const refused = await rabbitmqDriver({ url: `amqp://user:${secret}@127.0.0.1:1/${query}` }).catch((error) => error);
    expect(refused).toMatchObject({ code: "option_invalid", message: expect.stringContaining(why) });
    expect(inspect(refused, { depth: 10 })).not.toContain(secret);
  }
  const noUrl = await rabbitmqDriver({ url: `amqp://user:${secret}@[::` }).catch((error) => error);
  expect(noUrl).toMatchObject({ code: "option_invalid" });
  expect(inspect(noUrl, { depth: 10 })).not.toContain(secret);
});

test("without its library the driver says what to install", async () => {
  const missing = rabbitmqDriver({ url: "amqp://127.0.0.1" }, () => Promise.reject(new Error("not found")));
  await expect(missing).rejects.toMatchObject({
    code: "peer_missing",
    message: expect.stringContaining("npm install amqplib"),
  });
});

/** Stands before a server, and cuts all connections when it is told. */
async function startProxy(serverPort: number) {
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const upstream = connectSocket(serverPort, "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    }
    client.pipe(upstream).pipe(client);
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (proxy.address() as AddressInfo).port,
    cut,
    close: () => {
      cut();
      proxy.close();
    },
  };
}
