// The nats driver in the suite that every driver passes, and what is JetStream's alone.
import { randomUUID } from "node:crypto";
import { inspect } from "node:util";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Doorbell } from "../../src/queue/driver.ts";
import { natsDriver } from "../../src/queue/nats.ts";
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
import { haveNats, type NatsServer, startNats } from "../servers/nats.ts";
import { eventually } from "../support.ts";
import { runThrough } from "./whole.ts";

const redeliverMs = 1_500;

describe.skipIf(!haveNats() && !process.env["CI"])("nats (needs nats-server)", () => {
  let server: NatsServer;
  let admin: NatsConnection;

  beforeAll(async () => {
    server = await startNats();
    const { username: user, password: pass, host } = new URL(server.url);
    admin = await connect({ servers: [host], user, pass, maxReconnectAttempts: -1, reconnectTimeWait: 100 });
  });
  afterAll(async () => {
    await admin?.close();
    await server?.close();
  });

  const nats: QueueUnderTest = {
    lacks: {},
    async place() {
      const name = randomUUID();
      return {
        redeliverMs,
        messageMaxBytes: admin.info?.max_payload ?? 0,
        open: () => natsDriver({ url: `${server.url}?stream=${name}&subject=${name}&redeliver=${redeliverMs}ms` }),
        inject: async (lane, bytes) => {
          // The server may be coming back from the case before.
          await untilFulfilled("the server to take it", async () => {
            admin.publish(`${name}.${lane}`, bytes);
            await admin.flush();
          });
          return true;
        },
        wipe: async () => {
          const manager = await jetstreamManager(admin);
          await manager.streams.delete(name);
        },
        server,
        close: async () => {},
      };
    },
  };

  for (const { title, skip, alone, run } of [...queueTests(nats), ...queueFaultTests(nats)])
    (alone ? test : test.concurrent)(title, (it) => (skip === null ? run() : it.skip(skip)), 90_000);
  const urlOf = (name: string, more = ""): string => `${server.url}?stream=${name}&subject=${name}${more}`;

  test("jobs reach their handlers through it, each once, without the sweeper", () => runThrough(urlOf("whole")));

  test("a work queue holds what is under way and no more", async () => {
    const driver = await natsDriver({ url: urlOf("short") });
    await driver.send("default", doorbells(50));
    const { streams } = await jetstreamManager(admin);
    expect((await streams.info("short")).state.messages).toBe(50);
    await collect(driver, { count: 50 });
    await eventually("an empty stream", async () => (await streams.info("short")).state.messages === 0);
    await driver.close();
  });

  test("a doorbell that nobody ever acknowledges is given out ten times, and then no more", async () => {
    const driver = await natsDriver({ url: urlOf("stubborn", "&redeliver=100ms") });
    await driver.send("default", doorbells(1));
    const tally = await collect(driver, { forMs: 4_000, ack: false });
    expect([...tally.values()]).toEqual([10]);
    await driver.close();
  });

  test("the settings of the URL make the stream and change the consumer, and a stream that is there is used as it is", async () => {
    const { streams, consumers } = await jetstreamManager(admin);
    const openWith = async (more: string): Promise<void> => {
      const driver = await natsDriver({ url: urlOf("made", more) });
      await driver.send("default", doorbells(1));
      expect((await collect(driver, { count: 1 })).size).toBe(1);
      await driver.close();
    };
    await openWith("&storage=memory&redeliver=5s");
    expect((await streams.info("made")).config).toMatchObject({ storage: "memory", retention: "workqueue" });
    expect((await consumers.info("made", "default")).config.ack_wait).toBe(5_000_000_000);
    await openWith("&storage=file&redeliver=7s");
    expect((await streams.info("made")).config.storage).toBe("memory");
    expect((await consumers.info("made", "default")).config.ack_wait).toBe(7_000_000_000);
  });

  test("another server of the cluster is tried when the first is away", async () => {
    const away = new URL(urlOf("cluster"));
    away.port = "1";
    const driver = await natsDriver({ url: `${away.href}&servers=127.0.0.1:${server.port}` });
    await driver.send("default", doorbells(1));
    await driver.close();
  });

  test("a connection that is given is shared, and still open when the driver has closed", async () => {
    const driver = await natsDriver({ connection: admin, stream: "lent", subject: "lent" });
    await driver.send("default", doorbells(1));
    expect((await collect(driver, { count: 1 })).size).toBe(1);
    await driver.close();
    await admin.flush();
    expect(admin.isClosed()).toBe(false);
  });

  test("a server that hangs makes calls fail, not hang, and is used again when it answers", async () => {
    const driver = await natsDriver({ url: urlOf("frozen") });
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
    const came = await collect(driver, { forMs: 1_500, tolerant: true });
    expect([...came.keys()]).toContain(nameOf(bell));
    await driver.close();
  }, 60_000);

  test("a password is in no error, whatever is wrong", async () => {
    const { port, password } = server;
    const urls = [
      `nats://doorbell:${password}x@127.0.0.1:${port}`,
      `nats://${password}@127.0.0.1:${port}`,
      `nats://doorbell:${password}@127.0.0.1:1`,
      `nats://doorbell:${password}@:port`,
      `nats://doorbell:${password}@127.0.0.1:${port}?steam=x`,
      `nats://doorbell:${password}@127.0.0.1:${port}?stream=a.b`,
      `nats://doorbell:${password}@127.0.0.1:${port}?storage=tape`,
    ];
    for (const url of urls) {
      const call = async (): Promise<void> => {
        const driver = await natsDriver({ url });
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

  test("libraries that are missing are told at once, with the way out", async () => {
    await expect(natsDriver({ url: server.url }, () => Promise.reject(new Error("not found")))).rejects.toMatchObject({
      code: "peer_missing",
      message: expect.stringContaining("npm install @nats-io/transport-node @nats-io/jetstream"),
    });
    await expect(natsDriver({ url: server.url }, async () => [{}, {}])).rejects.toMatchObject({ code: "peer_missing" });
  });
});
