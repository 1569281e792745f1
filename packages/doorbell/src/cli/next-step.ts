// What becomes of a job next, if nobody does anything; and where nothing does, what a person can do.
import { instant } from "./output.ts";
import type { ShownJob } from "./shown-job.ts";

/** Null: it has settled well, or as it was told to. */
export function nextStep(job: ShownJob): string | null {
  const next = `attempt ${job.attempts + 1}`;
  switch (job.state) {
    case "queued":
      if (job.workers === 0) return `${next}, by a worker that knows its kind and serves its lane: none runs now`;
      return job.run_after.getTime() > Date.now() ? `${next}, not before ${instant(job.run_after)}` : `${next}, now`;
    case "claimed":
      if ((job.lease_until?.getTime() ?? 0) > Date.now()) return `attempt ${job.attempts} runs`;
      return `its lease is over; the sweeper ${job.attempts < job.max_attempts ? `queues it for ${next}` : "makes it a dead letter, for this was its last attempt"}`;
    case "waiting":
      return `${next}, when a person has answered what is in doubt`;
    case "failed":
      return "nothing by itself: doorbell dead-letters replay, or discard";
    default:
      return null;
  }
}
