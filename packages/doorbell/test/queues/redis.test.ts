// The redis driver in the suite that every driver passes, with each of the clients it takes, and what is Redis's alone.
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import { Cluster, Redis } from "ioredis";
import { createClient } from "redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Doorbell, QueueDriver } from "../../src/queue/driver.ts";
import { asDoorbell } from "../../src/queue/queue.ts";
import { type RedisClient, redisDriver } from "../../src/queue/redis.ts";
import { queueFaultTests } from "../../src/testing/queue-faults.ts";
import {
  collect,
  doorbells,
  nameOf,
  type QueueUnderTest,
  untilFulfilled,
  within,
} from "../../src/testing/queue-place.ts";
import { queueTests } from "../../src/testing/queue-suite.ts";
import { haveRedis, type RedisServer, startRedis } from "../servers/redis.ts";
import { runThrough } from "./whole.ts";

const redeliver = 1_500;
const ways = ["url", "ioredis client", "node-redis client"] as const;

describe.skipIf(!haveRedis() && !process.env["CI"])("redis (needs redis-server)", () => {
  let server: RedisServer;
  let admin: Redis;

  beforeAll(async () => {
    server = await startRedis();
    admin = new Redis(server.url);
    admin.on("error", () => {});
  });
  afterAll(async () => {
    admin?.disconnect();
    await server?.close();
  });

  const open = async (way: (typeof ways)[number], prefix: string): Promise<QueueDriver> => {
    if (way === "url") return redisDriver({ url: `${server.url}?prefix=${prefix}&redeliver=${redeliver}ms` });
    // Neither is connected: only their settings are taken.
    const client = way === "ioredis client" ? new Redis(server.url, { lazyConnect: true }) : createClient(server);
    return redisDriver({ client, prefix, redeliver });
  };

  const queueBy = (way: (typeof ways)[number]): QueueUnderTest => ({
    lacks: {},
    async place() {
      const prefix = `${randomUUID()}:`;
      return {
        redeliverMs: redeliver,
        messageMaxBytes: 8_000_000,
        open: () => open(way, prefix),
        inject: async (lane, bytes) => {
          await admin.xadd(`${prefix}${lane}`, "*", "doorbell", Buffer.from(bytes));
          return true;
        },
        wipe: async () => void (await admin.flushall()),
        server,
        close: async () => {},
      };
    },
  });

  for (const way of ways) {
    const queue = queueBy(way);
    // Faults are made in front of the driver, where the ways do not differ.
    const cases = way === "url" ? [...queueTests(queue), ...queueFaultTests(queue)] : queueTests(queue);
    describe(`by ${way}`, () => {
      for (const { title, skip, alone, run } of cases)
        (alone ? test : test.concurrent)(title, (it) => (skip === null ? run() : it.skip(skip)), 90_000);
    });
  }
  test("jobs reach their handlers through it, each once, without the sweeper", () =>
    runThrough(`${server.url}?prefix=whole:`));

  test("a stream holds what is under way and no more, and its group forgets what was acknowledged", async () => {
    const [driver, key] = [await open("url", "short:"), "short:default"];
    await driver.send("default", doorbells(50));
    expect(await admin.xlen(key)).toBe(50);
    await collect(driver, { count: 50 });
    expect(await admin.xlen(key)).toBe(0);
    expect(await admin.xpending(key, "doorbell")).toEqual([0, null, null, null]);
    await driver.close();
  });

  test("an entry of other fields is junk like any other", async () => {
    const driver = await open("url", "fields:");
    await admin.xadd("fields:default", "*", "job_id", "1", "tenant_id", "acme");
    await admin.xadd("fields:default", "*", "__proto__", "{}");
    const bodies: unknown[] = [];
    await collect(driver, { forMs: 300, onDelivery: ({ body }) => bodies.push(body) });
    expect(bodies.map(asDoorbell)).toEqual([null, null]);
    expect(await admin.xlen("fields:default")).toBe(0);
    await driver.close();
  });

  test("a key that is no stream fails its lane, says so, and leaves the others alone", async () => {
    const driver = await open("url", "kind:");
    await admin.set("kind:default", "a string");
    await expect(driver.send("default", doorbells(1))).rejects.toMatchObject({
      code: "queue_unavailable",
      message: expect.stringContaining("WRONGTYPE"),
    });
    await driver.send("mail", doorbells(1));
    expect((await collect(driver, { lanes: ["mail"], count: 1 })).size).toBe(1);
    await driver.close();
  });

  test("a server that hangs makes calls fail, not hang, and is used again when it answers", async () => {
    const driver = await open("url", "frozen:");
    await driver.send("default", doorbells(1));
    await collect(driver, { count: 1 });
    server.freeze();
    try {
      const aborted = AbortSignal.timeout(300);
      const ended = driver.receive({ lanes: ["default"], max: 1, waitMs: 60_000, signal: aborted });
      expect(await within("an aborted receive", 3_000, ended)).toEqual([]);
      const { signal } = new AbortController();
      const receiving = driver.receive({ lanes: ["default"], max: 1, waitMs: 500, signal });
      const calls = [driver.send("default", doorbells(1)), receiving];
      for (const call of await within("calls", 12_000, Promise.allSettled(calls))) expect(call.status).toBe("rejected");
    } finally {
      server.thaw();
    }
    const [bell] = doorbells(1) as [Doorbell];
    await untilFulfilled("a send", () => driver.send("default", [bell]));
    // What was sent while it hung may have been taken as well.
    const came = await collect(driver, { forMs: 1_000, tolerant: true });
    expect([...came.keys()]).toContain(nameOf(bell));
    await driver.close();
  }, 60_000);

  test("a client that is given is left alone: it is still connected when the driver has closed", async () => {
    const client = new Redis(server.url);
    const driver = await redisDriver({ client, prefix: "lent:" });
    await driver.send("default", doorbells(1));
    await driver.close();
    expect(await client.ping()).toBe("PONG");
    client.disconnect();
  });

  test("a login with the permissions that its page names is enough", async () => {
    const page = readFileSync(new URL("../../../../docs/queues/redis.md", import.meta.url), "utf8");
    const words = /^ACL (SETUSER .*)$/m.exec(page)?.[1]?.split(" ") ?? [];
    await admin.call("ACL", ...words);
    const driver = await redisDriver({ url: `redis://shop:PASSWORD@127.0.0.1:${server.port}?redeliver=200ms` });
    await driver.send("default", doorbells(2));
    expect((await collect(driver, { count: 2, ack: false })).size).toBe(2);
    expect((await collect(driver, { count: 2 })).size).toBe(2);
    await driver.close();
    await admin.call("ACL", "DELUSER", "shop");
  });

  test("a password is in no error, whatever is wrong", async () => {
    const { port, password } = server;
    const urls = [
      `redis://:${password}x@127.0.0.1:${port}`,
      `redis://:${password}@127.0.0.1:1`,
      `redis://:${password}@:port`,
      `redis://:${password}@127.0.0.1:${port}?prefiks=x`,
      `redis://:${password}@127.0.0.1:${port}?redeliver=1`,
      `redis://:${password}@127.0.0.1:${port}/99`,
    ];
    for (const url of urls) {
      const call = async (): Promise<void> => {
        const driver = await redisDriver({ url });
        await driver.send("default", doorbells(1)).finally(() => driver.close());
      };
      const error = await call().then(
        () => null,
        (thrown: unknown) => thrown,
      );
      expect(error).toMatchObject({ code: expect.stringMatching(/^(option_invalid|queue_unavailable)$/) });
      expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(password);
    }
  });

  test("what is missing or wrong is told at once, with the way out", async () => {
    await expect(redisDriver({ url: server.url }, () => Promise.reject(new Error("not found")))).rejects.toMatchObject({
      code: "peer_missing",
      message: expect.stringContaining("npm install ioredis"),
    });
    const cluster = new Cluster([server.url], { lazyConnect: true });
    for (const client of [cluster, { duplicate: () => null }, null as unknown as RedisClient])
      await expect(redisDriver({ client })).rejects.toMatchObject({ code: "option_invalid" });
    cluster.disconnect();
  });
});
