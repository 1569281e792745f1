// How a job is shown: without its payload unless that is asked for, and with its state in a word that says more than the
// column does.
import type { JobRow } from "../store/jobs.ts";

export function withoutPayload(job: JobRow): Omit<JobRow, "payload"> {
  const { payload: _, ...shown } = job;
  return shown;
}

/** The column's word, or `scheduled` and `retrying` for what is queued in a particular way. */
export function shownState({ state, run_after, attempts }: JobRow): string {
  if (state !== "queued") return state;
  if (attempts > 0) return "retrying";
  return run_after.getTime() > Date.now() ? "scheduled" : "queued";
}
