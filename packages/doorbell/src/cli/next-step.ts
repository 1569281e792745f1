// What becomes of a job next, if nobody does anything; and where nothing does, what a person can do.
import type { Breaker } from "../store/breakers.ts";
import type { Wait } from "../store/steps.ts";
import { instant } from "./output.ts";
import type { ShownJob } from "./shown-job.ts";

/**
 * `wait`: what its last attempt ended waiting for. `breaker`: its kind is paused for its tenant. Null: it has settled well, or
 * as it was told to.
 */
export function nextStep(job: ShownJob, wait: Wait | null = null, breaker: Breaker | null = null): string | null {
  const next = `attempt ${job.attempts + 1}`;
  switch (job.state) {
    case "queued":
      if (wait !== null && job.run_after.getTime() > Date.now()) return `${next}, when ${whatIsAwaited(wait)}`;
      if (job.workers === 0) return `${next}, by a worker that knows its kind and serves its lane: none runs now`;
      if (breaker !== null && job.run_after.getTime() <= Date.now()) {
        return `${next}, when the pause of its kind is over, ${instant(breaker.held_until)} or later (${breaker.error?.split("\n", 1)[0] ?? breaker.fingerprint}): doorbell breakers close ${job.kind}`;
      }
      return job.run_after.getTime() > Date.now() ? `${next}, not before ${instant(job.run_after)}` : `${next}, now`;
    case "claimed":
      if ((job.lease_until?.getTime() ?? 0) > Date.now()) return `attempt ${job.attempts} runs`;
      return `its lease is over; the sweeper ${job.attempts < job.max_attempts ? `queues it for ${next}` : "makes it a dead letter, for this was its last attempt"}`;
    case "waiting":
      if (wait !== null) return `${next}, when ${whatIsAwaited(wait)}`;
      return `${next}, when a person has answered what is in doubt`;
    case "failed":
      return "nothing by itself: doorbell dead-letters replay, or discard";
    default:
      return null;
  }
}

function whatIsAwaited({ type, key, event, until, children, open_children }: Wait): string {
  switch (type) {
    case "sleep":
      return `its sleep "${key}" is over, at ${instant(until)}`;
    case "event":
      return `event "${event}" has come${until === null ? "" : `, at the latest at ${instant(until)}`}`;
    case "children":
      return `the children of "${key}" have settled: ${open_children} of ${children} have not`;
  }
}
