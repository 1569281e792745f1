// Whether a job has been enqueued, for tests of what enqueues. Needs no test framework.
import { isDeepStrictEqual } from "node:util";
import type { AnyJobDefinition } from "../core/definition.ts";
import type { Doorbell } from "../doorbell.ts";
import type { Tx } from "../store/database.ts";

export interface EnqueuedJob {
  readonly id: string;
  readonly state: string;
  readonly payload: unknown;
  readonly objectKey: string | null;
  readonly runAfter: Date;
  readonly priority: number;
}

/** A part of the payload, compared field by field and deep; or a function that says whether it is this job. */
export type EnqueuedMatcher = object | string | number | boolean | null | ((job: EnqueuedJob) => boolean);

const shownMax = 5;

/**
 * Finds a job of this kind and tenant, the latest first, whatever has become of it. In a transaction that is open (and
 * clamped to the tenant, as that of `doorbell.transaction` is) it sees what that has enqueued so far. Throws an error that
 * shows what is there instead. Without a matcher any job of the kind will do.
 */
export async function expectEnqueued(
  where: Tx | Doorbell,
  tenant: string,
  job: AnyJobDefinition,
  matcher?: EnqueuedMatcher,
): Promise<EnqueuedJob> {
  const look = (tx: Tx): Promise<readonly EnqueuedJob[]> =>
    tx.query<EnqueuedJob>(
      `select id, state, payload, object_key as "objectKey", run_after as "runAfter", priority
         from doorbell.all_jobs where tenant_id = $1 and kind = $2 order by created_at desc, id desc limit 1000`,
      [tenant, job.kind],
    );
  const jobs = "transaction" in where ? await where.transaction(tenant, look) : await look(where);
  const found = jobs.find((one) => matches(one, matcher));
  if (found !== undefined) return found;
  const wanted = typeof matcher === "function" ? "that the function accepts" : `with ${JSON.stringify(matcher)}`;
  const lines = jobs.slice(0, shownMax).map((one) => `- ${one.id} ${one.state} ${JSON.stringify(one.payload)}`);
  const more = jobs.length > shownMax ? [`- and ${jobs.length - shownMax} more`] : [];
  const instead = jobs.length === 0 ? "there is none of this kind" : ["there are:", ...lines, ...more].join("\n");
  throw new Error(
    `no job of kind ${job.kind} of tenant ${tenant} ${matcher === undefined ? "" : `${wanted} `}was enqueued; ${instead}`,
  );
}

function matches(job: EnqueuedJob, matcher: EnqueuedMatcher | undefined): boolean {
  if (matcher === undefined) return true;
  return typeof matcher === "function"
    ? (matcher as (one: EnqueuedJob) => boolean)(job)
    : isPartOf(matcher, job.payload);
}

function isPartOf(part: unknown, whole: unknown): boolean {
  if (typeof part !== "object" || part === null || Array.isArray(part)) return isDeepStrictEqual(part, whole);
  if (typeof whole !== "object" || whole === null) return false;
  const fields = whole as Record<string, unknown>;
  return Object.entries(part).every(([name, value]) => name in fields && isPartOf(value, fields[name]));
}
