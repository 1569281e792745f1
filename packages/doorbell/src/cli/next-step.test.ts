import { expect, test } from "vitest";
import type { Wait } from "../store/steps.ts";
import { nextStep } from "./next-step.ts";
import { type ShownJob, shownState } from "./shown-job.ts";

const soon = new Date(Date.now() + 60_000);
const past = new Date(Date.now() - 60_000);

const job = (fields: Partial<ShownJob>): ShownJob => ({
  tenant_id: "acme",
  id: "01a22ffe-559a-7368-a7f2-d80e2da27449",
  kind: "greet",
  lane: "default",
  state: "queued",
  priority: 0,
  attempts: 0,
  max_attempts: 5,
  created_at: past,
  run_after: past,
  claimed_by: null,
  claimed_at: null,
  lease_until: null,
  object_key: null,
  object_sha256: null,
  object_size: null,
  idempotency_key: null,
  traceparent: null,
  last_error: null,
  error_code: null,
  fingerprint: null,
  app_version: null,
  result: null,
  finished_at: null,
  workers: 1,
  ...fields,
});

const wait = (fields: Partial<Wait>): Wait => ({
  type: "event",
  key: "k",
  event: null,
  until: null,
  children: null,
  open_children: null,
  ...fields,
});

test.each<[Partial<ShownJob>, Partial<Wait>, RegExp]>([
  [{ run_after: soon }, { type: "sleep", until: soon }, /^attempt 2, when its sleep "k" is over, at \d{4}-/],
  [{ state: "waiting" }, { event: "paid" }, /^attempt 2, when event "paid" has come$/],
  [{ state: "waiting" }, { event: "paid", until: soon }, /event "paid" has come, at the latest at \d{4}-/],
  [{ state: "waiting" }, { type: "children", children: 3, open_children: 2 }, /of "k" have settled: 2 of 3 have not$/],
  [{ run_after: past }, { event: "paid" }, /^attempt 2, now$/],
])("a job with %o that waits with %o says for what", (fields, waits, next) => {
  expect(nextStep(job({ attempts: 1, ...fields }), wait(waits))).toMatch(next);
});

test.each<[Partial<ShownJob>, string, RegExp | null]>([
  [{}, "queued", /^attempt 1, now$/],
  [{ run_after: soon }, "scheduled", /^attempt 1, not before \d{4}-/],
  [{ attempts: 2, run_after: soon }, "retrying", /^attempt 3, not before/],
  [{ workers: 0 }, "no worker", /^attempt 1, by a worker that knows its kind .*: none runs now$/],
  [{ state: "claimed", attempts: 1, lease_until: soon }, "claimed", /^attempt 1 runs$/],
  [{ state: "claimed", attempts: 1, lease_until: past }, "claimed", /the sweeper queues it for attempt 2$/],
  [{ state: "claimed", attempts: 5, lease_until: past }, "claimed", /makes it a dead letter/],
  [{ state: "waiting", attempts: 1 }, "waiting", /^attempt 2, when a person has answered/],
  [{ state: "failed", attempts: 5 }, "failed", /^nothing by itself/],
  [{ state: "done", attempts: 1 }, "done", null],
  [{ state: "cancelled" }, "cancelled", null],
])("a job with %o is shown as %s", (fields, state, next) => {
  expect(shownState(job(fields))).toBe(state);
  if (next === null) expect(nextStep(job(fields))).toBeNull();
  else expect(nextStep(job(fields))).toMatch(next);
});

test("a job whose kind is paused for its tenant says until when, why, and how to end that", () => {
  const breaker = {
    tenant_id: "acme",
    kind: "greet",
    fingerprint: "f",
    error: "the bank is away\n at pay",
    opened_at: past,
    held_until: soon,
    times: 1,
    probe: null,
  };
  expect(nextStep(job({}), null, breaker)).toMatch(
    /^attempt 1, when the pause of its kind is over, \d{4}-.*Z or later \(the bank is away\): doorbell breakers close greet$/,
  );
});
