// Statements of steps: values that a run has computed, and what it waits for. The functions are in functions/15_steps.sql.
import type { Tx } from "./database.ts";
import type { Fence } from "./ledger.ts";

export type StepType = "step" | "sleep" | "event" | "children";

export interface StepRequest {
  readonly tenant: string;
  readonly id: string;
  readonly key: string;
}

export interface StoredStep {
  readonly type: StepType;
  readonly value: unknown;
}

/** What is stored, in the order of the requests; null: nothing. */
export async function findSteps(tx: Tx, requests: readonly StepRequest[]): Promise<readonly (StoredStep | null)[]> {
  const rows = await tx.query<StoredStep & { readonly n: number }>(
    "select n::int, type, value from doorbell.find_steps($1::text[], $2::uuid[], $3::text[])",
    [requests.map((one) => one.tenant), requests.map((one) => one.id), requests.map((one) => one.key)],
  );
  const found: (StoredStep | null)[] = requests.map(() => null);
  for (const { n, type, value } of rows) found[n - 1] = { type, value };
  return found;
}

export interface StepRecord extends Fence {
  readonly key: string;
  /** JSON text; null for none. */
  readonly value: string | null;
}

/** Durable when it resolves. False: the lease is gone, and nothing was stored. All are of one worker. */
export async function keepSteps(tx: Tx, records: readonly StepRecord[]): Promise<readonly boolean[]> {
  const rows = await tx.query<{ n: number }>(
    "select k::int as n from doorbell.keep_steps($1, $2::text[], $3::uuid[], $4::int[], $5::text[], $6::jsonb[]) k",
    [
      records[0]?.worker,
      records.map((one) => one.tenant),
      records.map((one) => one.id),
      records.map((one) => one.attempt),
      records.map((one) => one.key),
      records.map((one) => one.value),
    ],
  );
  const kept = new Set(rows.map((row) => row.n));
  return records.map((_, index) => kept.has(index + 1));
}

/** See wait_for in functions/15_steps.sql. */
export type WaitVerdict = "over" | "timeout" | "waiting" | "changed" | "spent" | "busy" | "lost";

export interface WaitAnswer {
  readonly verdict: WaitVerdict;
  readonly value: unknown;
  readonly emittedAt: Date | null;
  /** Where the attempt has ended and it is known: how long from now the job is due. */
  readonly dueMs: number | null;
}

/** `event` null: sleeps. `waitMs` null: for ever. When it answers `waiting`, the attempt has ended. */
export async function waitFor(
  tx: Tx,
  { worker, tenant, id, attempt }: Fence,
  key: string,
  event: string | null,
  waitMs: number | null,
): Promise<WaitAnswer> {
  const [row] = await tx.query<WaitAnswer>(
    `select verdict, value, emitted_at as "emittedAt", due_ms::float8 as "dueMs"
       from doorbell.wait_for($1, $2, $3::uuid, $4::int, $5, $6, $7::bigint)`,
    [worker, tenant, id, attempt, key, event, waitMs],
  );
  return row as WaitAnswer;
}

export interface ChildRow {
  readonly verdict: Exclude<WaitVerdict, "timeout">;
  readonly id: string;
  readonly kind: string | null;
  /** Null: its time is over. */
  readonly state: "done" | "failed" | "cancelled" | "discarded" | null;
  readonly result: unknown;
  readonly error: string | null;
  readonly errorCode: string | null;
}

/** `jobs` is a JSON array for enqueue_many. A row for each child; or one with a verdict that is not `over`. */
export function spawn(
  tx: Tx,
  { worker, tenant, id, attempt }: Fence,
  key: string,
  names: readonly string[],
  jobs: string,
): Promise<readonly ChildRow[]> {
  return tx.query<ChildRow>(
    `select verdict, child_id as id, kind, state, result, error, error_code as "errorCode"
       from doorbell.spawn($1, $2, $3::uuid, $4::int, $5, $6::text[], $7::json)`,
    [worker, tenant, id, attempt, key, names, jobs],
  );
}

export interface Child {
  readonly tenant: string;
  readonly id: string;
}

/** Whether a job of this id may be somebody's child: child_id makes ids of version 8. */
export function mayBeChild(id: string): boolean {
  return id[14] === "8";
}

/** Queues the parents for whom these were the last to settle. The lanes in which they are. */
export async function wakeParents(tx: Tx, children: readonly Child[]): Promise<readonly string[]> {
  const rows = await tx.query<{ lane: string }>(
    "select w as lane from doorbell.wake_parents($1::text[], $2::uuid[]) w",
    [children.map((child) => child.tenant), children.map((child) => child.id)],
  );
  return rows.map((row) => row.lane);
}

/** What a job waits for. */
export interface Wait {
  readonly type: Exclude<StepType, "step">;
  readonly key: string;
  readonly event: string | null;
  readonly until: Date | null;
  readonly children: number | null;
  readonly open_children: number | null;
}

/** Null when this job's last attempt did not end waiting for a step. Under the tenant's clamp. */
export async function waitOf(tx: Tx, tenant: string, id: string): Promise<Wait | null> {
  const [row] = await tx.query<Wait>(
    `select s.type, s.key, s.event, s.until, s.children,
            case when s.type = 'children' then (
              select count(*)::int from doorbell.children c join doorbell.jobs o on o.tenant_id = c.tenant_id and o.id = c.child_id
               where c.tenant_id = s.tenant_id and c.parent_id = s.job_id and c.key = s.key and c.n is not null) end as open_children
       from doorbell.jobs j
       join doorbell.steps s on s.tenant_id = j.tenant_id and s.job_id = j.id and s.attempt = j.attempts and not s.done
      where j.tenant_id = $1 and j.id = ($2::text)::uuid and j.state in ('queued', 'waiting') limit 1`,
    [tenant, id],
  );
  return row ?? null;
}
