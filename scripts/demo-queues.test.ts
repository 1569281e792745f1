// The demo over brokers, as it is run: whatever carries the doorbells, the same comes of it. Over Redis always; in the long form
// (DOORBELL_TEST_LONG=1) over each. And what it says of a queue that it cannot have.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { brokerServers, type RunningServer } from "../packages/doorbell/test/servers/broker-servers.ts";

const script = fileURLToPath(new URL("./demo.ts", import.meta.url));
const withinMs = 150_000;

/** What the samples come to, whatever carries doorbells. How often something was begun again is luck. */
const result = {
  uploads: 30,
  documents: 30,
  done: 21,
  needsReview: 6,
  deadLetters: 3,
  refusedAtTheDoor: 0,
  effectsRequested: 27,
  effectsDelivered: 27,
  effectsDeliveredTwice: 0,
  mailsRequested: 21,
  mailsDelivered: 21,
  documentsCounted: 21,
  workersKilled: 1,
  processesDied: 0,
  jobsLost: 0,
};

interface Ran {
  readonly exitCode: number;
  readonly result: string;
  readonly told: string;
}

function demoOver(queueUrl: string): Promise<Ran> {
  const { DATABASE_URL: _, ...env } = process.env;
  const args = ["--import", "tsx", "-C", "doorbell-source", script, "--once", "--json", "--queue", queueUrl];
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, { env, timeout: withinMs }, (_error, stdout, told) =>
      resolve({ exitCode: child.exitCode ?? -1, result: stdout.trim().split("\n").at(-1) ?? "", told }),
    );
  });
}

const isLong = process.env["DOORBELL_TEST_LONG"] === "1";
for (const [name, kind] of Object.entries(brokerServers).filter(([name]) => isLong || name === "redis")) {
  describe.skipIf(!kind.isThere() && !process.env["CI"])(`the demo over ${name} (needs ${kind.program})`, () => {
    let server: RunningServer;
    beforeEach(async () => {
      server = await kind.start();
    }, 90_000);
    afterEach(() => server?.close());

    test(
      "comes to the same, with every doorbell doubled and a worker killed, and takes its queue away",
      async () => {
        const { exitCode, result: last, told } = await demoOver(server.url);
        expect(exitCode, told).toBe(0);
        const counted = JSON.parse(last) as Record<string, unknown>;
        expect(counted).toMatchObject(result);
        expect(counted["doorbellsDropped"]).toBeGreaterThan(0);
        expect(told).toContain(`doorbells through ${name} on 127.0.0.1:`);
        expect(told).not.toContain("while taking down");
      },
      withinMs,
    );
  });
}

test.each([
  ["a broker that does not answer", "redis://:secret@127.0.0.1:1", 1, "the queue of --queue cannot be used (redis: "],
  ["a parameter that its driver does not know", "redis://127.0.0.1:1?prefx=a", 2, "it has no setting prefx"],
  ["a scheme that no driver has", "kafka://127.0.0.1:1", 2, "there is no queue driver for this URL"],
  ["the queue that no other process sees", "memory:", 2, "dies with its process"],
])("asked for %s, it says so, keeps the password to itself, and starts nothing", async (_, url, exitCode, said) => {
  const ran = await demoOver(url);
  expect(ran).toMatchObject({ exitCode, result: "" });
  expect(ran.told).toContain(said);
  expect(ran.told).not.toMatch(/secret|\n {4}at /);
});
