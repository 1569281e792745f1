import { expect, test } from "vitest";
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
  result: null,
  finished_at: null,
  workers: 1,
  ...fields,
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
