// What a job waits for, on the command line; and an event that is emitted there.
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../support.ts";
import { Desk } from "./desk.ts";

let desk: Desk;

beforeAll(async () => {
  desk = await Desk.open();
  await desk.work();
});

afterAll(() => desk[Symbol.asyncDispose]());

test("a job says what it waits for, and goes on with an event from the command line", async () => {
  const acme = desk.tenant("acme");
  const other = desk.tenant("other");
  const id = await acme.enqueue("patient");
  const says = (next: RegExp): Promise<boolean> =>
    eventually(`the job to say ${next}`, async () => next.test(await acme.run("jobs", "show", id)));
  await says(/^next +attempt 2, when its sleep "nap" is over, at \d{4}-/m);
  await desk.until(id, "waiting", 2);
  await says(/^next +attempt 3, when event "approved" has come$/m);
  expect(await other.run("events", "emit", "approved")).toBe("0 jobs were waiting for it\n");
  expect(await acme.run("events", "emit", "approved", "--payload", '{"by":"anna"}')).toBe("1 job was waiting for it\n");
  await desk.until(id, "waiting", 3);
  await says(/^next +attempt 4, when the children of "children" have settled: [12] of 2 have not$/m);
  await desk.until(id, "done", 4);
  expect(await acme.json("jobs", "show", id)).toMatchObject({ job: { result: { by: "anna" } } });
  const story = await acme.json<readonly { level: string; message: string; fields: unknown }[]>("logs", id);
  expect(story.filter((line) => line.message.includes("ended:"))).toMatchObject([
    { level: "info", message: "attempt 1 ended: snooze", fields: { error: "sleeps: nap" } },
    { level: "info", message: "attempt 2 ended: wait", fields: { error: "waits for event approved" } },
    { level: "info", message: "attempt 3 ended: wait", fields: { error: "waits for its children: children" } },
  ]);
  expect(await acme.json("events", "emit", "approved")).toEqual({ event: "approved", woken: 0 });
  expect(await acme.attempt("events", "emit", "")).toMatchObject({ code: 2 });
});
