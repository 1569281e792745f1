// The ledger's entries on the command line, and a person's answer about one that is in doubt.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { eventually } from "../support.ts";
import { Desk } from "./desk.ts";

let desk: Desk;

beforeAll(async () => {
  desk = await Desk.open();
  await desk.work();
});

afterAll(() => desk[Symbol.asyncDispose]());

test("an effect in doubt is shown, with what follows; a person's answer, on record, lets the job go on with it", async () => {
  const acme = desk.tenant("acme");
  const id = await acme.enqueue("doubtful");
  await desk.until(id, "waiting", 2);

  const shown = await acme.run("jobs", "show", id);
  expect(shown).toMatch(/^next +attempt 3, when a person has answered what is in doubt$/m);
  expect(shown).toMatch(/^charge card +effect +IN DOUBT /m);
  expect(shown).toMatch(/^IN DOUBT: charge card: the job waits for a person: find out whether it happened /m);
  expect(shown).toContain(`doorbell effects resolve ${id} 'charge card' --tenant '${acme.tenant}' --happened`);
  expect(await acme.json("effects", "list", "--in-doubt")).toMatchObject([{ job_id: id, state: "in_doubt" }]);
  expect(await acme.json("stats")).toMatchObject({ kinds: [{ kind: "doubtful", waiting: 1, in_doubt: 1 }] });

  const resolve = ["effects", "resolve", id, "charge card"];
  expect(await acme.attempt(...resolve, "--happened")).toMatchObject({ code: 2 });
  expect(await acme.attempt(...resolve, "--reason", "r")).toMatchObject({ code: 2 });
  expect(await acme.attempt(...resolve, "--happened", "--did-not-happen", "--reason", "r")).toMatchObject({ code: 2 });
  expect(await acme.attempt(...resolve, "--happened", "--value", '"\\u0000"', "--reason", "r")).toMatchObject({
    code: 2,
    stderr: "doorbell: value contains a NUL character\n",
  });
  const answer = ["--happened", "--value", '{"charged":true}', "--reason", "the bank says so", "--actor", "anna"];
  expect(await acme.run(...resolve, ...answer)).toBe(`resolved: effect charge card of job ${id} happened, says anna\n`);
  await desk.until(id, "done", 3);

  expect(await acme.json("jobs", "show", id)).toMatchObject({
    job: { result: { charged: true } },
    effects: [{ key: "charge card", state: "completed", source: "person", actor: "anna", reason: "the bank says so" }],
  });
  expect(await acme.json("effects", "list", "--in-doubt")).toEqual([]);
  expect(await acme.attempt(...resolve, "--did-not-happen", "--reason", "r")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("is not in doubt"),
  });
});

test("an effect that did not happen, says a person, is done again under the same idempotency key", async () => {
  const acme = desk.tenant("acme");
  const id = await acme.enqueue("doubtful");
  await desk.until(id, "waiting", 2);
  await acme.run("effects", "resolve", id, "charge card", "--did-not-happen", "--reason", "the bank has not seen it");
  await desk.until(id, "waiting", 4);
  expect(await acme.json("effects", "list", "--job", id)).toMatchObject([
    { key: "charge card", n: 2, attempt: 3, state: "in_doubt", idempotency_key: `${id}:charge card` },
  ]);
});

test("an effect in doubt whose policy is to send again says so, and who may answer first", async () => {
  const receiver = createServer((_, response) => response.writeHead(500).end()).listen(0, "127.0.0.1");
  onTestFinished(() => void receiver.close());
  await once(receiver, "listening");
  const { port } = receiver.address() as AddressInfo;
  const acme = desk.tenant("acme");
  const id = await acme.enqueue("notifying", "--payload", JSON.stringify({ url: `http://127.0.0.1:${port}/` }));
  await eventually("the webhook to be in doubt", async () => {
    const effects = await acme.json<{ state: string }[]>("effects", "list", "--job", id);
    return effects[0]?.state === "in_doubt";
  });
  const shown = await acme.run("jobs", "show", id);
  expect(shown).toMatch(/^state +retrying$/m);
  expect(shown).toMatch(/^IN DOUBT: webhook:.*: the next attempt that comes to it sends it again with the same id/m);
  await acme.run("jobs", "cancel", id);
  expect(await acme.run("jobs", "show", id)).toMatch(/^IN DOUBT: webhook:.*: the job has settled; a replay sends it/m);
});
