// Which jobs a command means: those that are named, the newest with an object, or all that match. The selection is made
// in full before anything is done with it, so that nothing is done to half of it silently.
import { DoorbellError } from "../core/errors.ts";
import type { Tx } from "../store/database.ts";
import { getJob, type JobFilter, type JobRow, type JobState, listJobs, newestByObject } from "../store/jobs.ts";
import { noSuchJob } from "./client.ts";

export interface Selection {
  readonly ids: readonly string[];
  readonly objectKey?: string;
  readonly kind?: string;
  readonly state?: JobState;
  readonly fingerprint?: string;
  readonly since?: Date;
  readonly until?: Date;
}

const pageSize = 200;
/** More than a person can have meant without a look. */
const matchesMax = 10_000;

/** In a transaction that is clamped to the tenant. Throws job_not_found, option_invalid. */
export async function selectJobs(tx: Tx, tenant: string, selection: Selection): Promise<readonly JobRow[]> {
  const { ids, objectKey, kind, state = "failed", fingerprint, since, until } = selection;
  if (ids.length > 0) return await Promise.all([...new Set(ids)].map((id) => requireJob(tx, tenant, id)));
  if (objectKey !== undefined) {
    const jobs = await newestByObject(tx, tenant, objectKey, kind ?? null);
    if (jobs.length === 0) throw new DoorbellError("job_not_found", `no such job: none has object key ${objectKey}`);
    return jobs;
  }
  return await allMatches(tx, tenant, {
    state,
    ...(kind !== undefined && { kind }),
    ...(fingerprint !== undefined && { fingerprint }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
  });
}

export async function requireJob(tx: Tx, tenant: string, id: string): Promise<JobRow> {
  const job = await getJob(tx, tenant, id);
  if (job === null) throw noSuchJob(id);
  return job;
}

async function allMatches(
  tx: Tx,
  tenant: string,
  filter: Omit<JobFilter, "limit" | "before">,
): Promise<readonly JobRow[]> {
  const jobs: JobRow[] = [];
  for (let last: JobRow | undefined; ; ) {
    const page = await listJobs(tx, tenant, {
      ...filter,
      limit: pageSize,
      ...(last !== undefined && { before: last.id }),
    });
    jobs.push(...page);
    if (jobs.length > matchesMax) {
      throw new DoorbellError(
        "option_invalid",
        `more than ${matchesMax} jobs match: narrow them with --kind or --since`,
      );
    }
    last = page.at(-1);
    if (last === undefined || page.length < pageSize) return jobs;
  }
}
