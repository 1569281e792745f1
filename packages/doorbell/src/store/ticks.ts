// Statements of the worker: tick, extend. Batches over many tenants, one round trip each.
import type pg from "pg";
import { asOperatingError, type Tx } from "./database.ts";
import type { Fence } from "./ledger.ts";

export interface ClaimedJob {
  readonly tenant: string;
  readonly id: string;
  readonly kind: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly payload: unknown;
  readonly objectKey: string | null;
  readonly objectSha256: string | null;
  readonly objectSize: number | null;
  readonly traceparent: string | null;
}

export type SettleOutcome = "done" | "failed" | "cancelled" | "retry" | "snooze" | "release" | "wait";

/** How an attempt ended. `result` is JSON text. */
export interface Settlement {
  readonly tenant: string;
  readonly id: string;
  readonly attempt: number;
  readonly outcome: SettleOutcome;
  readonly delayMs?: number;
  readonly result?: string | null;
  readonly error?: string;
  readonly code?: string;
  readonly fingerprint?: string;
}

export interface Doorbell {
  readonly job_id: string;
  readonly tenant_id: string;
}

export interface TickRequest {
  readonly worker: string;
  readonly kinds: readonly string[];
  readonly leaseMs: number;
  readonly settlements: readonly Settlement[];
  /** Pop up to `max` doorbells from these lanes; or claim what these doorbells name. */
  readonly from:
    | { readonly lanes: readonly string[]; readonly max: number }
    | { readonly doorbells: readonly Doorbell[] };
}

export interface TickAnswer {
  readonly claimed: readonly ClaimedJob[];
  /** Settlements that were refused: the lease had passed on. */
  readonly lost: readonly { readonly tenant: string; readonly id: string; readonly attempt: number }[];
  /** Breakers that this batch's failures have opened, or kept open. */
  readonly opened: readonly OpenedBreaker[];
  /** Doorbells that came back as alarms: their kind is paused for their tenant. */
  readonly held: number;
  /** Doorbells that came to nothing, by reason. */
  readonly dropped: Readonly<Record<"stale" | "unhandled" | "missed", number>>;
}

export interface OpenedBreaker {
  readonly tenant: string;
  readonly kind: string;
  /** The how-manieth pause this is. */
  readonly times: number;
  readonly fingerprint: string;
  readonly error: string | null;
  readonly until: Date;
}

const tickSql = `
select what, tenant_id, id, kind, attempt, max_attempts, payload, object_key, object_sha256, object_size, traceparent
  from doorbell.tick($1, $2::text[], $3::int, $4::text[], $5::bigint, $6::text[], $7::uuid[],
         $8::text[], $9::uuid[], $10::int[], $11::text[], $12::bigint[], $13::jsonb[], $14::text[], $15::text[], $16::text[])`;

type TickRow = [
  what: "claimed" | "lost" | "opened" | "held" | "stale" | "unhandled" | "missed",
  tenant: string,
  id: string,
  kind: string,
  attempt: number,
  maxAttempts: number,
  payload: unknown,
  objectKey: string | null,
  objectSha256: string | null,
  objectSize: number | null,
  traceparent: string | null,
];

/** Settles and claims, atomically. A settlement that is sent again after an answer that was lost comes back as lost. */
export async function tick(client: pg.Client, request: TickRequest): Promise<TickAnswer> {
  const { settlements, from } = request;
  // Nearly always all of them are done, and most without a result: a null column is cheaper than one full of nulls.
  const column = <T>(pick: (one: Settlement) => T | undefined): (T | null)[] | null =>
    settlements.some((one) => pick(one) !== undefined) ? settlements.map((one) => pick(one) ?? null) : null;
  const lanes = "lanes" in from ? from : null;
  const doorbells = "doorbells" in from ? from.doorbells : null;
  let rows: TickRow[];
  try {
    const answer = await client.query({
      text: tickSql,
      rowMode: "array",
      values: [
        request.worker,
        request.kinds,
        lanes?.max ?? 0,
        lanes?.lanes ?? null,
        request.leaseMs,
        doorbells?.map((bell) => bell.tenant_id) ?? null,
        doorbells?.map((bell) => bell.job_id) ?? null,
        settlements.map((one) => one.tenant),
        settlements.map((one) => one.id),
        settlements.map((one) => one.attempt),
        settlements.some((one) => one.outcome !== "done") ? settlements.map((one) => one.outcome) : null,
        column((one) => one.delayMs),
        column((one) => one.result ?? undefined),
        column((one) => one.error),
        column((one) => one.code),
        column((one) => one.fingerprint),
      ],
    });
    rows = answer.rows as unknown as TickRow[];
  } catch (error) {
    throw asOperatingError(error);
  }

  const claimed: ClaimedJob[] = [];
  const lost: { tenant: string; id: string; attempt: number }[] = [];
  const opened: OpenedBreaker[] = [];
  let held = 0;
  const dropped = { stale: 0, unhandled: 0, missed: 0 };
  for (const row of rows) {
    const [what, tenant, id, kind, attempt, maxAttempts, payload, objectKey, objectSha256, objectSize, traceparent] =
      row;
    if (what === "claimed") {
      claimed.push({
        tenant,
        id,
        kind,
        attempt,
        maxAttempts,
        payload,
        objectKey,
        objectSha256,
        objectSize,
        traceparent,
      });
    } else if (what === "lost") lost.push({ tenant, id, attempt });
    else if (what === "opened") opened.push(openedBreaker(row));
    else if (what === "held") held += attempt;
    else dropped[what] += attempt;
  }
  return { claimed, lost, opened, held, dropped };
}

/** Of this row the columns mean something else (functions/07_tick.sql). */
function openedBreaker(row: TickRow): OpenedBreaker {
  const [, tenant, , kind, times, , , error, fingerprint, untilMs] = row;
  return { tenant, kind, times, fingerprint: fingerprint ?? "", error, until: new Date(untilMs ?? 0) };
}

/** Settles one job in a transaction of the application's. False: the lease has passed on. */
export async function settleOne(tx: Tx, worker: string, settlement: Settlement): Promise<boolean> {
  const rows = await tx.query(
    `select s from doorbell.settle($1, array[$2::text], array[($3::text)::uuid], array[($4::text)::int], array[$5::text],
              results => array[($6::text)::jsonb]) s`,
    [
      worker,
      settlement.tenant,
      settlement.id,
      String(settlement.attempt),
      settlement.outcome,
      settlement.result ?? null,
    ],
  );
  return rows.length === 1;
}

/** Keeps leases of one worker. Which of them are still held. */
export async function extend(
  client: pg.Client,
  fences: readonly Fence[],
  leaseMs: number,
): Promise<(fence: Pick<Fence, "tenant" | "id">) => boolean> {
  const { rows } = await client.query<{ tenant_id: string; id: string }>(
    "select tenant_id, id from doorbell.extend($1, $2::text[], $3::uuid[], $4::int[], $5::bigint)",
    [
      fences[0]?.worker,
      fences.map((fence) => fence.tenant),
      fences.map((fence) => fence.id),
      fences.map((fence) => fence.attempt),
      leaseMs,
    ],
  );
  // An id is one tenant's: two tenants may have chosen the same.
  const held = new Set(rows.map((row) => `${row.id} ${row.tenant_id}`));
  return ({ tenant, id }) => held.has(`${id} ${tenant}`);
}
