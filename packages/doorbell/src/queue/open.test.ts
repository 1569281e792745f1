import { inspect } from "node:util";
import { expect, test } from "vitest";
import { openQueueDriver, queueSchemes } from "./open.ts";

const noDatabase = { query: () => Promise.reject(new Error("opening asks nothing of the database")) };

/** Of every scheme, with what its URL has to have. */
const urls: Readonly<Record<string, string>> = {
  "postgres:": "postgres",
  "memory:": "memory",
  "redis://:secret@127.0.0.1:1": "redis",
  "rediss://:secret@127.0.0.1:1/2?prefix=shop:": "redis",
  "nats://user:secret@127.0.0.1:1": "nats",
  "amqp://user:secret@127.0.0.1:1": "rabbitmq",
  "amqps://user:secret@127.0.0.1:1": "rabbitmq",
  "sqs://sqs.eu-central-1.amazonaws.com/123456789012/doorbell": "sqs",
};

test("every scheme has a driver, which is opened without a connection", async () => {
  expect(Object.keys(urls).map((url) => url.slice(0, url.indexOf(":")))).toEqual(
    expect.arrayContaining([...queueSchemes]),
  );
  for (const [url, name] of Object.entries(urls)) {
    const driver = await openQueueDriver(url, noDatabase);
    expect(driver.name).toBe(name);
    await driver.close();
  }
});

test("a URL that cannot be opened is refused, and never told", async () => {
  const broken = [
    ...[
      "",
      "secret",
      "secret@host",
      "kafka://user:secret@host",
      "constructor:secret",
      "redis:",
      "nats:///secret",
      "redis://:secret@:x",
    ],
    ...[
      "redis://:secret@host?prefik=secret",
      "nats://user:secret@host?stream=a%20b",
      "nats://user:secret@host?replicas=9",
    ],
  ];
  for (const url of broken) {
    const error = await openQueueDriver(url, noDatabase).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect([url, error]).toEqual([url, expect.objectContaining({ code: "option_invalid" })]);
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain("secret@");
  }
});
