// Statements of the ledger. Batches: each array is one column, an element of each makes one effect.
import type { Tx } from "./database.ts";

/** Which attempt speaks: every write of an attempt carries it. */
export interface Fence {
  readonly worker: string;
  readonly tenant: string;
  readonly id: string;
  readonly attempt: number;
}

export type EffectType = "effect" | "webhook" | "email" | "usage";
export type EffectOutcome = "completed" | "not_done" | "unknown";

export interface IntentRequest extends Fence {
  readonly key: string;
  readonly type: EffectType;
  readonly idempotencyKey: string;
  readonly requestHash: string;
  /** Begin again although it is in doubt. */
  readonly overDoubt: boolean;
}

/** See functions/08_effects.sql for what each verdict asks of the caller. */
export interface IntentAnswer {
  readonly verdict: "go" | "completed" | "changed" | "in_doubt" | "lost";
  readonly intent: number | null;
  readonly value: unknown;
  readonly idempotencyKey: string;
}

/** The intents are durable when this resolves. Answers in the order of the requests; all are of one worker. */
export async function beginEffects(tx: Tx, requests: readonly IntentRequest[]): Promise<readonly IntentAnswer[]> {
  const column = <K extends keyof IntentRequest>(name: K): IntentRequest[K][] =>
    requests.map((request) => request[name]);
  const rows = await tx.query<IntentAnswer & { readonly n: number }>(
    `select n, verdict, intent, value, idempotency_key as "idempotencyKey"
       from doorbell.begin_effects($1, $2::text[], $3::uuid[], $4::int[], $5::text[], $6::text[], $7::text[], $8::text[], $9::boolean[])`,
    [
      requests[0]?.worker,
      column("tenant"),
      column("id"),
      column("attempt"),
      column("key"),
      column("type"),
      column("idempotencyKey"),
      column("requestHash"),
      column("overDoubt"),
    ],
  );
  const answers: IntentAnswer[] = new Array(requests.length);
  for (const { n, ...answer } of rows) answers[n - 1] = answer;
  return answers;
}

export interface OutcomeRecord {
  readonly tenant: string;
  readonly id: string;
  readonly key: string;
  readonly intent: number;
  readonly source: "call" | "probe";
  readonly outcome: EffectOutcome;
  /** JSON text; null for none. */
  readonly value: string | null;
  readonly reason: string | null;
}

/** Not fenced. True where this record was the first of its source on its intent. */
export async function finishEffects(tx: Tx, records: readonly OutcomeRecord[]): Promise<readonly boolean[]> {
  const column = <K extends keyof OutcomeRecord>(name: K): OutcomeRecord[K][] => records.map((record) => record[name]);
  const rows = await tx.query<{ n: number }>(
    "select f as n from doorbell.finish_effects($1::text[], $2::uuid[], $3::text[], $4::int[], $5::text[], $6::text[], $7::jsonb[], $8::text[]) f",
    [
      column("tenant"),
      column("id"),
      column("key"),
      column("intent"),
      column("source"),
      column("outcome"),
      column("value"),
      column("reason"),
    ],
  );
  const written = new Set(rows.map((row) => row.n));
  return records.map((_, index) => written.has(index + 1));
}

export interface UsageRecord extends Fence {
  readonly key: string;
  readonly requestHash: string;
  readonly meter: string;
  readonly amount: number;
}

export async function countUsage(tx: Tx, usage: UsageRecord): Promise<IntentAnswer["verdict"]> {
  const { worker, tenant, id, attempt, key, requestHash, meter, amount } = usage;
  const [row] = await tx.query<{ verdict: IntentAnswer["verdict"] }>(
    "select doorbell.count_usage($1, $2, $3, $4, $5, $6, $7, $8) as verdict",
    [worker, tenant, id, attempt, key, requestHash, meter, amount],
  );
  return row?.verdict ?? "lost";
}

/** What is known of an effect of a job: the latest intent, and its outcome (null: none is recorded). */
export interface EffectState {
  readonly job_id: string;
  readonly key: string;
  readonly n: number;
  readonly type: EffectType;
  readonly idempotency_key: string;
  readonly attempt: number;
  readonly begun_at: Date;
  readonly outcome: EffectOutcome | null;
  readonly value: unknown;
  readonly reason: string | null;
  readonly actor: string | null;
  readonly source: "call" | "probe" | "person" | null;
  readonly finished_at: Date | null;
  readonly conflict: boolean;
}

/** In the order in which they were begun. job null: all of the tenant. Under the tenant's clamp. */
export function listEffects(
  tx: Tx,
  tenant: string,
  job: string | null,
  inDoubtOnly: boolean,
): Promise<readonly EffectState[]> {
  return tx.query<EffectState>(
    `select * from doorbell.effect_states
      where tenant_id = $1 and ($2::text is null or job_id = ($2::text)::uuid)
        and (not $3::text::boolean or coalesce(outcome, 'unknown') = 'unknown')
      order by begun_at, key limit 1000`,
    [tenant, job, String(inDoubtOnly)],
  );
}

export type ResolveAnswer = "resolved" | "not_found" | "not_in_doubt" | "under_way";

export interface EffectAnswer {
  readonly tenant: string;
  readonly job: string;
  readonly key: string;
  readonly outcome: "completed" | "not_done";
  /** JSON text of what the handler shall see; null for none. */
  readonly value: string | null;
  readonly reason: string;
  readonly actor: string;
}

export async function resolveEffect(tx: Tx, answer: EffectAnswer): Promise<ResolveAnswer> {
  const [row] = await tx.query<{ answer: ResolveAnswer }>(
    "select doorbell.resolve_effect($1, ($2::text)::uuid, $3, $4, ($5::text)::jsonb, $6, $7) as answer",
    [answer.tenant, answer.job, answer.key, answer.outcome, answer.value, answer.reason, answer.actor],
  );
  return row?.answer ?? "not_found";
}
