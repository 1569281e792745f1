// Statements of maintenance: sweep, retention, the line for external queues, what processes say of themselves, numbers.
import type { Tx } from "./database.ts";
import type { Doorbell } from "./ticks.ts";

export interface SweepChunk {
  /** Where the chunk of tenants ended; null: there are no more. */
  readonly last: string | null;
  readonly expired: number;
  readonly dead: number;
  readonly rung: number;
}

/** `idleLanes`: where a worker of this process has free slots, and finds the queue empty. */
export async function sweepChunk(
  tx: Tx,
  after: string,
  {
    tenants,
    graceMs,
    idleLanes,
  }: { readonly tenants: number; readonly graceMs: number; readonly idleLanes: readonly string[] },
): Promise<SweepChunk> {
  const [row] = await tx.query<SweepChunk>("select * from doorbell.sweep($1, $2, $3 * interval '1 ms', $4::text[])", [
    after,
    tenants,
    graceMs,
    idleLanes,
  ]);
  return row as SweepChunk;
}

export interface RetireChunk {
  readonly last: string | null;
  readonly jobs: number;
  readonly dropped: number;
}

export async function retireChunk(tx: Tx, after: string, chunk: number): Promise<RetireChunk> {
  const [row] = await tx.query<RetireChunk>("select * from doorbell.retire($1, $2)", [after, chunk]);
  return row as RetireChunk;
}

export async function addPartitions(tx: Tx): Promise<void> {
  await tx.query("select doorbell.add_partitions()");
}

export async function addLanes(tx: Tx, lanes: readonly string[]): Promise<void> {
  for (const lane of lanes) await tx.query("select doorbell.add_lane($1)", [lane]);
}

/** Takes doorbells out of the line for an external queue, in the fair order. */
export async function takeDoorbells(tx: Tx, lane: string, max: number): Promise<readonly Doorbell[]> {
  return tx.query<Doorbell>("select tenant_id, job_id from doorbell.take($1, $2)", [lane, max]);
}

/** Puts doorbells that were taken and that the queue did not take into the line again. */
export async function putBack(tx: Tx, doorbells: readonly Doorbell[]): Promise<void> {
  await tx.query("select doorbell.put_back($1::text[], $2::uuid[])", [
    doorbells.map((bell) => bell.tenant_id),
    doorbells.map((bell) => bell.job_id),
  ]);
}

/** Which of these transactions have committed, and which have not ended. The rest have aborted. */
export async function transactionStates(
  tx: Tx,
  xids: readonly string[],
): Promise<ReadonlyMap<string, "committed" | "in progress" | "aborted" | null>> {
  const rows = await tx.query<{ xid: string; status: "committed" | "in progress" | "aborted" | null }>(
    "select x as xid, pg_xact_status(x::xid8) as status from jsonb_array_elements_text(($1::text)::jsonb) x",
    [JSON.stringify(xids)],
  );
  return new Map(rows.map((row) => [row.xid, row.status]));
}

/** The channel of wake-ups. The payload is the lane: what is to be done stands in the table. */
export const wakeChannel = "doorbell";

export async function notifyLanes(tx: Tx, lanes: readonly string[]): Promise<void> {
  await tx.query("select pg_notify($1, lane) from jsonb_array_elements_text(($2::text)::jsonb) lane", [
    wakeChannel,
    JSON.stringify(lanes),
  ]);
}

export interface ProcessState {
  readonly id: string;
  readonly role: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly kinds: readonly string[];
  readonly lanes: readonly string[];
  readonly slots: number;
  readonly running: number;
  readonly draining: boolean;
  readonly doorbellsDropped: number;
  /** The application's; null: it tells none. */
  readonly appVersion: string | null;
}

export async function beat(tx: Tx, state: ProcessState): Promise<void> {
  await tx.query("select doorbell.beat($1, $2, $3, $4, $5, $6::text[], $7::text[], $8, $9, $10, $11, $12)", [
    state.id,
    state.role,
    state.host,
    state.pid,
    state.version,
    state.kinds,
    state.lanes,
    state.slots,
    state.running,
    state.draining,
    state.doorbellsDropped,
    state.appVersion,
  ]);
}

export async function signOff(tx: Tx, id: string): Promise<void> {
  await tx.query("select doorbell.sign_off($1)", [id]);
}

/** Of one kind, over all tenants, or over the clamped one. */
export interface KindStats {
  readonly kind: string;
  readonly due: number;
  readonly scheduled: number;
  readonly retrying: number;
  readonly claimed: number;
  readonly stuck: number;
  readonly waiting: number;
  readonly oldest_due_seconds: number | null;
  readonly dead_letters: number;
  readonly in_doubt: number;
  /** Live processes that handle the kind. 0: nobody knows it, and its jobs wait. */
  readonly workers: number;
}

export function kindStats(tx: Tx): Promise<readonly KindStats[]> {
  return tx.query<KindStats>("select * from doorbell.stats()");
}

/** A process as it last said of itself. */
export interface WorkerRow {
  readonly id: string;
  readonly role: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly kinds: readonly string[];
  readonly lanes: readonly string[];
  readonly slots: number;
  readonly running: number;
  readonly draining: boolean;
  readonly doorbells_dropped: number;
  readonly started_at: Date;
  readonly seen_at: Date;
}

/** Live processes: those seen within the last half minute, as `stats` counts them. One that was killed goes with that. */
export function listWorkers(tx: Tx): Promise<readonly WorkerRow[]> {
  return tx.query<WorkerRow>(
    "select * from doorbell.workers where seen_at > now() - interval '30 s' order by role, id",
  );
}

export interface LogRow {
  readonly tenant: string;
  readonly id: string;
  readonly attempt: number;
  readonly n: number;
  readonly at: Date;
  readonly level: string;
  readonly stage: string | null;
  readonly message: string;
  /** JSON text; null for none. */
  readonly fields: string | null;
}

export async function writeLogs(tx: Tx, lines: readonly LogRow[]): Promise<void> {
  const column = <K extends keyof LogRow>(name: K): LogRow[K][] => lines.map((line) => line[name]);
  await tx.query(
    "select doorbell.write_logs($1::text[], $2::uuid[], $3::int[], $4::int[], $5::timestamptz[], $6::text[], $7::text[], $8::text[], $9::jsonb[])",
    [
      column("tenant"),
      column("id"),
      column("attempt"),
      column("n"),
      column("at"),
      column("level"),
      column("stage"),
      column("message"),
      column("fields"),
    ],
  );
}
