// How a job is shown: without its payload unless that is asked for, with who could do it, and with its state in a word
// that says more than the column does.
import type { JobRow } from "../store/jobs.ts";
import type { WorkerRow } from "../store/maintenance.ts";

/** As commands show it, and as one element of their JSON. */
export interface ShownJob extends Omit<JobRow, "payload"> {
  /** Live processes that take jobs of its kind from its lane. 0: while it is queued it waits, and loses no attempt. */
  readonly workers: number;
}

export function withoutPayload(job: JobRow): Omit<JobRow, "payload"> {
  const { payload: _, ...shown } = job;
  return shown;
}

export function shownJob(job: JobRow, workers: readonly WorkerRow[]): ShownJob {
  const able = workers.filter(
    ({ kinds, lanes, draining }) => kinds.includes(job.kind) && lanes.includes(job.lane) && !draining,
  );
  return { ...withoutPayload(job), workers: able.length };
}

/** The column's word, or for a queued job what it is queued for. */
export function shownState({ state, run_after, attempts, workers }: ShownJob): string {
  if (state !== "queued") return state;
  if (workers === 0) return "no worker";
  if (attempts > 0) return "retrying";
  return run_after.getTime() > Date.now() ? "scheduled" : "queued";
}
