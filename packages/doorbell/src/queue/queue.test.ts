import { expect, test } from "vitest";
import { createMetrics } from "../telemetry/metrics.ts";
import type { Delivery, QueueDriver } from "./driver.ts";
import { memoryDriver } from "./memory.ts";
import { asDoorbell, Queue } from "./queue.ts";

const id = "01890a5d-ac96-774b-bcce-b302099a8057";
const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

test("only {job_id, tenant_id} is a doorbell, whatever else it carries", () => {
  expect(asDoorbell({ job_id: id, tenant_id: "acme", kind: "ignored" })).toEqual({ job_id: id, tenant_id: "acme" });
  const junk = [
    undefined,
    null,
    1,
    "x",
    [],
    {},
    { job_id: id },
    { tenant_id: "acme" },
    { job_id: 7, tenant_id: "acme" },
    { job_id: "not a uuid", tenant_id: "acme" },
    { job_id: id, tenant_id: 7 },
    { job_id: id, tenant_id: "" },
    { job_id: id, tenant_id: "*" },
    { job_id: id, tenant_id: "x".repeat(201) },
    { job_id: id, tenant_id: "é".repeat(101) },
    { job_id: id, tenant_id: "a\u0000b" },
    { job_id: id, tenant_id: "\ud800" },
  ];
  for (const body of junk) expect([body, asDoorbell(body)]).toEqual([body, null]);
  for (const tenant_id of ["a'b", 'a"b', "%", "🙂", "../x", "x".repeat(200)])
    expect(asDoorbell({ job_id: id, tenant_id })?.tenant_id).toBe(tenant_id);
});

test("junk is acknowledged, counted, and said once a kind; good doorbells beside it arrive", async () => {
  const acked: unknown[] = [];
  const warned: string[] = [];
  const bodies: unknown[] = ["junk", { job_id: id, tenant_id: "acme" }, { a: 1 }, "more junk"];
  const driver: QueueDriver = {
    ...memoryDriver(),
    receive: async () => bodies.splice(0).map((body): Delivery => ({ body, handle: body })),
    ack: async (deliveries) => void acked.push(...deliveries.map((delivery) => delivery.body)),
  };
  const metrics = createMetrics();
  const queue = new Queue(driver, { metrics, log: { ...quiet, warn: (message) => void warned.push(message) } });
  const request = { lanes: ["default"], max: 10, waitMs: 0, signal: new AbortController().signal };
  const received = await queue.receive(request);
  expect(received.doorbells).toEqual([{ job_id: id, tenant_id: "acme" }]);
  expect(acked).toEqual(["junk", { a: 1 }, "more junk"]);
  await received.ack();
  expect(acked).toHaveLength(4);
  bodies.push("yet more");
  await queue.receive(request);
  expect(warned).toHaveLength(1);
  expect((await metrics.expose()).body).toContain('doorbell_doorbells_dropped_total{reason="junk"} 4');
  metrics.close();
});

test("a closed queue refuses, and a driver's failure becomes queue_unavailable", async () => {
  const metrics = createMetrics();
  const driver: QueueDriver = { ...memoryDriver(), receive: () => Promise.reject(new Error("no route")) };
  const queue = new Queue(driver, { metrics, log: quiet });
  const request = { lanes: ["default"], max: 1, waitMs: 0, signal: new AbortController().signal };
  await expect(queue.receive(request)).rejects.toMatchObject({ code: "queue_unavailable" });
  await queue.close();
  await expect(queue.receive(request)).rejects.toMatchObject({ code: "closed" });
  await expect(queue.send("default", [])).rejects.toMatchObject({ code: "closed" });
  metrics.close();
});

test("the memory driver wakes a receiver that waits, keeps lanes apart, and ends a wait when it is aborted", async () => {
  const driver = memoryDriver();
  const abort = new AbortController();
  const waiting = driver.receive({ lanes: ["a"], max: 10, waitMs: 10_000, signal: abort.signal });
  await driver.send("b", [{ job_id: id, tenant_id: "acme" }]);
  await driver.send("a", [{ job_id: id, tenant_id: "acme" }]);
  // The first send wakes it as well, and it may come back empty: that is what the contract allows.
  const got = [
    ...(await waiting),
    ...(await driver.receive({ lanes: ["a"], max: 10, waitMs: 0, signal: abort.signal })),
  ];
  expect(got.map((delivery) => delivery.body)).toEqual([{ job_id: id, tenant_id: "acme" }]);
  const idle = driver.receive({ lanes: ["a"], max: 10, waitMs: 60_000, signal: abort.signal });
  abort.abort();
  expect(await idle).toEqual([]);
});
