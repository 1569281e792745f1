// SQS against the conformance suite: an emulator in this process, and AWS itself where DOORBELL_TEST_SQS_URL names a queue
// there and credentials are in the environment. Queues are made beside that name, and deleted.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { inspect } from "node:util";
import {
  CreateQueueCommand,
  DeleteQueueCommand,
  GetQueueUrlCommand,
  SendMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { type FauxqsServer, startFauxqs } from "fauxqs";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { newId } from "../../src/core/ids.ts";
import type { Doorbell } from "../../src/queue/driver.ts";
import { groupOf, sqsDriver } from "../../src/queue/sqs.ts";
import { queueFaultTests } from "../../src/testing/queue-faults.ts";
import { collect, doorbells, type QueuePlace, type QueueUnderTest, suiteLanes } from "../../src/testing/queue-place.ts";
import { queueTests } from "../../src/testing/queue-suite.ts";

const redeliverMs = 2_000;
const never = new AbortController().signal;

/** A place with fresh names on a server. `url` without a query, `query` with the rest. */
function placeOn(client: SQSClient, url: string, query: string): Omit<QueuePlace, "server"> {
  const name = `${url}-${newId()}`;
  const queueName = (lane: string) => `${name.split("/").at(-1)}${lane === suiteLanes.main ? "" : `-${lane}`}`;
  const wipe = async (): Promise<void> => {
    for (const lane of Object.values(suiteLanes)) {
      const QueueUrl = await client.send(new GetQueueUrlCommand({ QueueName: queueName(lane) })).then(
        (answer) => answer.QueueUrl,
        () => undefined,
      );
      if (QueueUrl !== undefined) await client.send(new DeleteQueueCommand({ QueueUrl }));
    }
  };
  return {
    redeliverMs,
    open: () => sqsDriver({ url: `${name}?redeliver=${redeliverMs}ms${query}` }),
    inject: async (lane, bytes) => {
      const Attributes = { VisibilityTimeout: String(redeliverMs / 1_000) };
      const { QueueUrl } = await client.send(new CreateQueueCommand({ QueueName: queueName(lane), Attributes }));
      const MessageBody = Buffer.from(bytes).toString();
      return await client.send(new SendMessageCommand({ QueueUrl, MessageBody })).then(
        () => true,
        () => false,
      );
    },
    wipe,
    close: wipe,
  };
}

describe("sqs (fauxqs)", () => {
  // The SDK asks for some; the emulator takes any.
  process.env["AWS_ACCESS_KEY_ID"] ??= "test";
  process.env["AWS_SECRET_ACCESS_KEY"] ??= "test";
  let emulator: FauxqsServer;
  let port = 0;
  let client: SQSClient;
  const start = async (): Promise<void> => {
    emulator = await startFauxqs({ port, host: "127.0.0.1", logger: false });
    ({ port } = emulator);
  };
  beforeAll(async () => {
    await start();
    client = new SQSClient({ region: "eu-central-1", endpoint: emulator.address });
  });
  afterAll(async () => {
    client.destroy();
    await emulator.stop();
  });
  const server = { start, stop: async () => void (await emulator.stop()) };
  const urlOf = (name: string) => `sqs://sqs.eu-central-1.amazonaws.com/000000000000/${name}`;
  const query = () => `&endpoint=http://127.0.0.1:${port}`;

  const place = async (): Promise<QueuePlace> => ({ ...placeOn(client, urlOf("doorbell"), query()), server });
  const sqs: QueueUnderTest = { lacks: { durable: "the emulator keeps nothing" }, place };
  for (const { title, skip, alone, run } of [...queueTests(sqs), ...queueFaultTests(sqs)])
    (alone ? test : test.concurrent)(title, (it) => (skip === null ? run() : it.skip(skip)), 90_000);

  async function open(name: string, settings: string) {
    const driver = await sqsDriver({ url: `${urlOf(name)}?${settings}${query()}` });
    onTestFinished(() => driver.close());
    return driver;
  }

  test("a tenant is a message group, by its id or, where SQS would not take that, by its hash", async () => {
    // The emulator forgets the groups of a standard queue: they are read on the way to it.
    const asked: string[] = [];
    const proxy = createServer(async (request, response) => {
      const body = await text(request);
      asked.push(body);
      const headers = Object.entries(request.headers).filter(([name]) => /^(content-type|x-amz-target)$/.test(name));
      const answer = await fetch(emulator.address, {
        method: "POST",
        headers: headers as [string, string][],
        body,
      });
      response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
      response.end(await answer.text());
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void proxy.close());
    await once(proxy, "listening");
    const endpoint = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const driver = await sqsDriver({ url: `${urlOf(newId())}?endpoint=${endpoint}` });
    onTestFinished(() => driver.close());
    for (const tenant of ["acme", "a b", "é"]) await driver.send("default", doorbells(1, tenant));
    const entries = asked.flatMap((body) => (JSON.parse(body).Entries ?? []) as Record<string, string>[]);
    const groups = entries.map((entry) => [JSON.parse(entry["MessageBody"] ?? "").tenant_id, entry["MessageGroupId"]]);
    expect(Object.fromEntries(groups)).toEqual({ acme: "acme", "a b": groupOf("a b"), é: groupOf("é") });
    expect(groupOf("é")).toMatch(/^[0-9a-f]{64}$/);
    expect(groupOf("x".repeat(128))).toBe("x".repeat(128));
    expect(groupOf("x".repeat(129))).toHaveLength(64);
  });

  test("one receive brings more than one call can, and no more than it was asked for", async () => {
    const driver = await open(newId(), "redeliver=1m");
    await driver.send("default", doorbells(100));
    const sizes: number[] = [];
    for (const max of [37, 100, 100]) {
      const deliveries = await driver.receive({ lanes: ["default"], max, waitMs: 0, signal: never });
      await driver.ack(deliveries);
      sizes.push(deliveries.length);
    }
    expect(sizes).toEqual([37, 63, 0]);
  });

  test("what came into a lane beside what was asked for is given back, and need not wait for the redelivery", async () => {
    const name = newId();
    const [one, other] = [await open(name, "redeliver=10m"), await open(name, "redeliver=10m")];
    const lanes = ["default", "mail"];
    for (const lane of lanes) await one.send(lane, doorbells(1));
    expect(await one.receive({ lanes, max: 1, waitMs: 1_000, signal: never })).toHaveLength(1);
    const tally = await collect(other, { lanes, count: 1, forMs: 5_000 });
    expect(tally.size).toBe(1);
  });

  test("a batch of which SQS takes a part is an error, and so is a queue that may not be made", async () => {
    const name = newId();
    const driver = await open(name, "create=0");
    await expect(driver.send("default", doorbells(1))).rejects.toMatchObject({
      code: "queue_unavailable",
      message: expect.stringContaining("create=0"),
    });
    await client.send(new CreateQueueCommand({ QueueName: name, Attributes: { MaximumMessageSize: "1024" } }));
    await driver.send("default", doorbells(1));
    const [small] = doorbells(1) as [Doorbell];
    const tooLarge = { ...small, tenant_id: "x".repeat(2_000) };
    await expect(driver.send("default", [small, tooLarge])).rejects.toMatchObject({ code: "queue_unavailable" });
  });
});

const awsUrl = process.env["DOORBELL_TEST_SQS_URL"];
const hasCredentials = ["AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE"].some(
  (name) => process.env[name] !== undefined && process.env[name] !== "test",
);

describe.skipIf(awsUrl === undefined || !hasCredentials)(
  "sqs (AWS: needs DOORBELL_TEST_SQS_URL=sqs://sqs.REGION.amazonaws.com/ACCOUNT/NAME and credentials)",
  () => {
    const url = awsUrl ?? "";
    const region = /sqs\.([a-z0-9-]+)\./.exec(url)?.[1] ?? "";
    const lacks = {
      wipe: "AWS refuses a deleted queue's name for a minute",
      server: "nobody stops AWS",
      durable: "nobody stops AWS",
    };
    const place = async (): Promise<QueuePlace> => placeOn(new SQSClient({ region }), url, "");
    for (const { title, skip, run } of [...queueTests({ lacks, place }), ...queueFaultTests({ lacks, place })]) {
      test(title, { timeout: 120_000 }, (it) => (skip === null ? run() : it.skip(skip)));
    }
  },
);

test("a URL that makes no sense is refused, and not repeated", async () => {
  const secret = "pa55-w0rd";
  const host = "sqs://sqs.eu-central-1.amazonaws.com";
  const urls: readonly (readonly [url: string, why: string])[] = [
    [`sqs://key:${secret}@sqs.eu-central-1.amazonaws.com/1/bells`, "credentials do not belong in it"],
    [`${host}/123456789012/bells.fifo`, "a FIFO queue would"],
    [`${host}/`, "after the host stands"],
    [`${host}/a/b/c?x=${secret}`, "after the host stands"],
    ["sqs://example.org/bells", "its host is not one of SQS"],
    ["sqs://localhost/bells?endpoint=http://localhost:1", "it names no region"],
    [`${host}/bells?endpoint=localhost`, "endpoint is not"],
    [`${host}/bells?secret=${secret}`, "it has no setting secret; there are endpoint, region, create, redeliver"],
    [`${host}/bells?redeliver=13h`, "redeliver is not from 1s to 12h"],
    [`sqs://[${secret}`, "it is no URL"],
  ];
  for (const [url, why] of urls) {
    const refused = await sqsDriver({ url }).catch((error) => error);
    expect(refused).toMatchObject({ code: "option_invalid", message: expect.stringContaining(why) });
    expect(inspect(refused, { depth: 10 })).not.toContain(secret);
  }
  const longLane = await sqsDriver({ url: `${host}/${"x".repeat(70)}` });
  await expect(longLane.send("a-long-lane", doorbells(1))).rejects.toMatchObject({ code: "option_invalid" });
  await longLane.close();
});

test("without its library the driver says what to install", async () => {
  const missing = sqsDriver({ url: "sqs://sqs.eu-central-1.amazonaws.com/bells" }, () =>
    Promise.reject(new Error("not found")),
  );
  await expect(missing).rejects.toMatchObject({
    code: "peer_missing",
    message: expect.stringContaining("npm install @aws-sdk/client-sqs"),
  });
});
