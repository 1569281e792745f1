// Statements about jobs: enqueue, and what one tenant's people ask and do. Scalars only as parameters, a list as one JSON
// text, so that the same statements run on any client.
import { DoorbellError } from "../core/errors.ts";
import type { Tx } from "./database.ts";
import { everyTenant, ourSetting, type Tenancy } from "./tenancy.ts";

/** A job on its way in; `payload` is JSON text. */
export interface EnqueueRow {
  readonly tenant: string;
  readonly kind: string;
  readonly lane: string;
  readonly payload: string;
  readonly id: string | null;
  readonly key: string | null;
  readonly runAfter: { readonly at: string } | { readonly delayMs: number } | null;
  readonly priority: number;
  readonly maxAttempts: number;
  readonly objectKey: string | null;
  readonly objectSha256: string | null;
  readonly objectSize: number | null;
  readonly limitKey: string | null;
  readonly traceparent: string | null;
}

export interface Enqueued {
  readonly id: string;
  /** False: this id or key was there before, and `id` is the job that has it. */
  readonly created: boolean;
  /** The transaction that holds it, for pg_xact_status. */
  readonly xid: string;
}

// The functions raise for a clamp on another tenant and for a lane that is not there, and an error would cost the caller
// the transaction. So those two are looked at first, and no row comes back where they stand in the way. A token, where
// tenancy is signed, is in force for this statement alone.
const withToken = (param: string): string =>
  `current_setting('doorbell.token', true) as old_token,
               set_config('doorbell.token', coalesce(${param}, current_setting('doorbell.token', true)), true) as token`;
const oldToken = "set_config('doorbell.token', min(admitted.old_token), true)";

const enqueueSql = `
select e.job_id as id, e.created, pg_current_xact_id()::text as xid,
       set_config('doorbell.token', admitted.old_token, true) as token
  from (select $1::text as tenant, ${withToken("$17")}
         where $1 = coalesce(nullif(current_setting('doorbell.tenant_id', true), ''), $1)
           and $1 = coalesce(nullif(current_setting($16, true), ''), $1)
           and exists (select from doorbell.lanes l where l.lane = $8) offset 0) admitted
 cross join lateral doorbell.enqueue(admitted.tenant, $2, ($3::text)::jsonb, id => ($4::text)::uuid, key => $5,
         run_after => coalesce(($6::text)::timestamptz, now() + ($7::text)::float8 * interval '1 ms'), lane => $8,
         priority => ($9::text)::int, max_attempts => ($10::text)::int, object_key => $11, object_sha256 => $12,
         object_size => ($13::text)::bigint, limit_key => $14, traceparent => $15) e`;

const at = (row: EnqueueRow): string | null => (row.runAfter !== null && "at" in row.runAfter ? row.runAfter.at : null);
const delay = (row: EnqueueRow): number | null =>
  row.runAfter !== null && "delayMs" in row.runAfter ? row.runAfter.delayMs : null;
const text = (value: number | null): string | null => (value === null ? null : String(value));

/** Throws tenant_mismatch, lane_unknown. */
export async function enqueue(tx: Tx, row: EnqueueRow, { setting, sign }: Tenancy): Promise<Enqueued> {
  const [answer] = await tx.query<Enqueued>(enqueueSql, [
    row.tenant,
    row.kind,
    row.payload,
    row.id,
    row.key,
    at(row),
    text(delay(row)),
    row.lane,
    text(row.priority),
    text(row.maxAttempts),
    row.objectKey,
    row.objectSha256,
    text(row.objectSize),
    row.limitKey,
    row.traceparent,
    setting ?? ourSetting,
    sign?.(row.tenant) ?? null,
  ]);
  return answer ?? (await refuse(tx, [row], setting));
}

const enqueueManySql = `
select json_agg(e.job_id order by e.n)::text as ids, json_agg(e.created order by e.n)::text as created,
       pg_current_xact_id()::text as xid, ${oldToken} as token
  from (select $1::text as jobs, ${withToken("$5")}
         where not exists (
                 select from json_array_elements_text(($2::text)::json) t(tenant)
                  where t.tenant <> coalesce(nullif(current_setting('doorbell.tenant_id', true), ''), t.tenant)
                     or t.tenant <> coalesce(nullif(current_setting($3, true), ''), t.tenant))
           and not exists (
                 select from json_array_elements_text(($4::text)::json) l(lane)
                  where l.lane not in (select k.lane from doorbell.lanes k)) offset 0) admitted
 cross join lateral doorbell.enqueue_many(admitted.jobs::json) e`;

/** Answers in the order of the rows. At least one row. Throws as enqueue does. */
export async function enqueueMany(
  tx: Tx,
  rows: readonly EnqueueRow[],
  { setting, sign }: Tenancy,
): Promise<readonly Enqueued[]> {
  const tenants = [...new Set(rows.map((row) => row.tenant))];
  const [answer] = await tx.query<{ readonly ids: string | null; readonly created: string; readonly xid: string }>(
    enqueueManySql,
    [
      `[${rows.map(newJobJson).join(",")}]`,
      JSON.stringify(tenants),
      setting ?? ourSetting,
      JSON.stringify([...new Set(rows.map((row) => row.lane))]),
      sign?.(tenants.length === 1 ? (tenants[0] as string) : everyTenant) ?? null,
    ],
  );
  const { ids, created, xid } = answer ?? { ids: null, created: "[]", xid: "" };
  if (ids === null) return await refuse(tx, rows, setting);
  const isCreated = JSON.parse(created) as readonly boolean[];
  return (JSON.parse(ids) as readonly string[]).map((id, index) => ({ id, created: isCreated[index] === true, xid }));
}

/** Says what stood in the way of these rows. */
async function refuse(tx: Tx, rows: readonly EnqueueRow[], theirs: string | null): Promise<never> {
  for (const setting of new Set([ourSetting, theirs ?? ourSetting])) {
    const [answer] = await tx.query<{ clamp: string | null }>("select current_setting($1, true) as clamp", [setting]);
    const clamp = answer?.clamp ?? "";
    const other = clamp === "" ? undefined : rows.find((row) => row.tenant !== clamp);
    if (other === undefined) continue;
    throw new DoorbellError(
      "tenant_mismatch",
      `a job of kind ${other.kind} for tenant "${other.tenant}" was not enqueued: the transaction is clamped to another tenant (${setting})`,
    );
  }
  throw new DoorbellError(
    "lane_unknown",
    `there is no lane ${[...new Set(rows.map((row) => `"${row.lane}"`))].join(" or ")}; workers make the lanes that they serve, or call doorbell.add_lane`,
  );
}

/** An element of enqueue_many. The payload is JSON already, and goes in as it is. */
export function newJobJson(row: EnqueueRow): string {
  const members = JSON.stringify({
    tenant: row.tenant,
    kind: row.kind,
    lane: row.lane,
    id: row.id ?? undefined,
    key: row.key ?? undefined,
    run_after: at(row) ?? undefined,
    delay_ms: delay(row) ?? undefined,
    priority: row.priority,
    max_attempts: row.maxAttempts,
    object_key: row.objectKey ?? undefined,
    object_sha256: row.objectSha256 ?? undefined,
    object_size: row.objectSize ?? undefined,
    limit_key: row.limitKey ?? undefined,
    traceparent: row.traceparent ?? undefined,
  });
  return `${members.slice(0, -1)},"payload":${row.payload}}`;
}

export type JobState = "queued" | "claimed" | "waiting" | "done" | "failed" | "cancelled" | "discarded";

/** A job as it is shown: all of its row, from whichever table it is in. */
export interface JobRow {
  readonly tenant_id: string;
  readonly id: string;
  readonly kind: string;
  readonly lane: string;
  readonly state: JobState;
  readonly priority: number;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly created_at: Date;
  readonly run_after: Date;
  readonly claimed_by: string | null;
  readonly claimed_at: Date | null;
  readonly lease_until: Date | null;
  readonly payload: unknown;
  readonly object_key: string | null;
  readonly object_sha256: string | null;
  readonly object_size: number | null;
  readonly idempotency_key: string | null;
  readonly traceparent: string | null;
  readonly last_error: string | null;
  readonly error_code: string | null;
  readonly fingerprint: string | null;
  readonly result: unknown;
  readonly finished_at: Date | null;
  /** Of a dead letter: the version of the application that failed it, if it told one. */
  readonly app_version: string | null;
}

/** Null when this tenant has no such job. Under the tenant's clamp. */
export async function getJob(tx: Tx, tenant: string, id: string): Promise<JobRow | null> {
  const [row] = await tx.query<JobRow>(
    "select * from doorbell.all_jobs where tenant_id = $1 and id = ($2::text)::uuid",
    [tenant, id],
  );
  return row ?? null;
}

export interface JobFilter {
  readonly state?: JobState;
  readonly kind?: string;
  readonly objectKey?: string;
  readonly fingerprint?: string;
  /** Created at or after. */
  readonly since?: Date;
  /** Created before. */
  readonly until?: Date;
  /** Only ids below this one: the last of the page before. */
  readonly before?: string;
  readonly limit: number;
}

/** Newest first, in one total order: by id, which for UUID v7 is the order of creation. Under the tenant's clamp. */
export function listJobs(tx: Tx, tenant: string, filter: JobFilter): Promise<readonly JobRow[]> {
  return tx.query<JobRow>(
    `select * from doorbell.all_jobs
      where tenant_id = $1 and ($2::text is null or state = $2) and ($3::text is null or kind = $3)
        and ($4::text is null or object_key = $4) and ($5::text is null or fingerprint = $5)
        and ($6::text is null or created_at >= ($6::text)::timestamptz) and ($7::text is null or id < ($7::text)::uuid)
        and ($9::text is null or created_at < ($9::text)::timestamptz)
      order by id desc limit ($8::text)::int`,
    [
      tenant,
      filter.state ?? null,
      filter.kind ?? null,
      filter.objectKey ?? null,
      filter.fingerprint ?? null,
      filter.since?.toISOString() ?? null,
      filter.before ?? null,
      String(filter.limit),
      filter.until?.toISOString() ?? null,
    ],
  );
}

/** The newest job of each kind with this object. Under the tenant's clamp. */
export function newestByObject(
  tx: Tx,
  tenant: string,
  objectKey: string,
  kind: string | null,
): Promise<readonly JobRow[]> {
  return tx.query<JobRow>(
    `select distinct on (kind) * from doorbell.all_jobs
      where tenant_id = $1 and object_key = $2 and ($3::text is null or kind = $3) order by kind, created_at desc, id desc`,
    [tenant, objectKey, kind],
  );
}

export interface StoryLine {
  readonly at: Date;
  readonly attempt: number;
  readonly what: "job" | "attempt" | "log" | "effect";
  readonly level: "debug" | "info" | "warn" | "error";
  readonly stage: string | null;
  readonly message: string;
  readonly fields: Record<string, unknown> | null;
}

/** Everything about one job in order of time; empty when this tenant has no such job. Under the tenant's clamp. */
export function story(tx: Tx, tenant: string, id: string): Promise<readonly StoryLine[]> {
  return tx.query<StoryLine>("select * from doorbell.story($1, ($2::text)::uuid)", [tenant, id]);
}

export type CancelAnswer = "cancelled" | "final" | "not_found";

export async function cancel(tx: Tx, tenant: string, id: string, reason: string | null): Promise<CancelAnswer> {
  const [row] = await tx.query<{ cancel: CancelAnswer }>("select doorbell.cancel($1, ($2::text)::uuid, $3)", [
    tenant,
    id,
    reason,
  ]);
  return row?.cancel ?? "not_found";
}

export interface ReplayAnswer {
  readonly id: string;
  /** See functions/09_people.sql and, for one effect again, 16_poison.sql. */
  readonly answer: "replayed" | "open" | "not_found" | "key_taken" | "not_completed";
}

/** One completed effect that a person wants done again. */
export interface Refire {
  readonly key: string;
  readonly reason: string;
  readonly actor: string;
}

/** Replays, and has this one effect of each job done again. */
export function refire(
  tx: Tx,
  tenant: string,
  ids: readonly string[],
  { key, reason, actor }: Refire,
): Promise<readonly ReplayAnswer[]> {
  return tx.query<ReplayAnswer>(
    "select * from doorbell.refire($1, array(select jsonb_array_elements_text(($2::text)::jsonb)::uuid), $3, $4, $5)",
    [tenant, JSON.stringify(ids), key, reason, actor],
  );
}

export function replay(tx: Tx, tenant: string, ids: readonly string[]): Promise<readonly ReplayAnswer[]> {
  return tx.query<ReplayAnswer>(
    "select * from doorbell.replay($1, array(select jsonb_array_elements_text(($2::text)::jsonb)::uuid))",
    [tenant, JSON.stringify(ids)],
  );
}

/** The ids that were among the dead letters, and are discarded now. */
export async function discard(
  tx: Tx,
  tenant: string,
  ids: readonly string[],
  reason: string,
  actor: string,
): Promise<readonly string[]> {
  const rows = await tx.query<{ id: string }>(
    "select d as id from doorbell.discard($1, array(select jsonb_array_elements_text(($2::text)::jsonb)::uuid), $3, $4) d",
    [tenant, JSON.stringify(ids), reason, actor],
  );
  return rows.map((row) => row.id);
}
