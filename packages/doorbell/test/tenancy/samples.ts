// A row for every table with a tenant: what the tests of the boundary insert. A table that is missing here fails them.
import type { Row } from "../sql/support.ts";

/** What it takes to insert a row: the columns without a default, and a value for each. */
const samples: Record<string, (tenant: string) => Row> = {
  jobs: (tenant_id) => ({ tenant_id, id: crypto.randomUUID(), kind: "k" }),
  dead_letters: (tenant_id) => ({ tenant_id, id: crypto.randomUUID(), kind: "k", state: "failed" }),
  job_history: (tenant_id) => ({
    tenant_id,
    id: crypto.randomUUID(),
    kind: "k",
    state: "done",
    finished_at: new Date(),
  }),
  job_history_rest: (tenant_id) => ({
    tenant_id,
    id: crypto.randomUUID(),
    kind: "k",
    state: "done",
    finished_at: "2001-01-01",
  }),
  job_keys: (tenant_id) => ({
    tenant_id,
    kind: "k",
    key_hash: Buffer.from(crypto.randomUUID()),
    job_id: crypto.randomUUID(),
  }),
  attempts: (tenant_id) => ({ tenant_id, job_id: crypto.randomUUID(), attempt: 1, outcome: "retry" }),
  job_logs: (tenant_id) => ({
    tenant_id,
    job_id: crypto.randomUUID(),
    attempt: 1,
    n: 1,
    at: new Date(),
    level: "info",
    message: "m",
  }),
  effects: (tenant_id) => ({
    tenant_id,
    job_id: crypto.randomUUID(),
    key: "k",
    n: 1,
    type: "effect",
    idempotency_key: "i",
    request_hash: "h",
    attempt: 1,
  }),
  effect_outcomes: (tenant_id) => ({
    tenant_id,
    job_id: crypto.randomUUID(),
    key: "k",
    n: 1,
    source: "call",
    outcome: "completed",
  }),
  steps: (tenant_id) => ({
    tenant_id,
    job_id: crypto.randomUUID(),
    key: "k",
    type: "event",
    done: false,
    attempt: 1,
    event: "e",
  }),
  children: (tenant_id) => ({
    tenant_id,
    parent_id: crypto.randomUUID(),
    key: "k",
    name: "1",
    child_id: crypto.randomUUID(),
  }),
  events: (tenant_id) => ({ tenant_id, event: "e", id: crypto.randomUUID() }),
  usage_counters: (tenant_id) => ({ tenant_id, meter: crypto.randomUUID(), day: "2026-01-01", amount: 1 }),
  webhook_deliveries: (tenant_id) => ({
    tenant_id,
    job_id: crypto.randomUUID(),
    id: crypto.randomUUID(),
    endpoint_id: crypto.randomUUID(),
    key: "k",
    attempt: 1,
    outcome: "completed",
    took_ms: 1,
  }),
  webhook_endpoints: (tenant_id) => ({ tenant_id, id: crypto.randomUUID(), url: "https://h.example/", events: ["*"] }),
  webhook_secrets: (tenant_id) => ({
    tenant_id,
    endpoint_id: crypto.randomUUID(),
    n: 1,
    sealed: Buffer.from("sealed"),
  }),
  doorbells: (tenant_id) => ({ tenant_id, lane: "default", turn: 1, priority: 0, job_id: crypto.randomUUID() }),
  unhandled: (tenant_id) => ({ tenant_id, job_id: crypto.randomUUID(), kind: "k", lane: "default" }),
  rung: (tenant_id) => ({ tenant_id, job_id: crypto.randomUUID(), lane: "default" }),
  tenants: (tenant_id) => ({ tenant_id }),
  failures: (tenant_id) => ({ tenant_id, kind: "k", fingerprint: "f", job_id: crypto.randomUUID() }),
  breakers: (tenant_id) => ({ tenant_id, kind: crypto.randomUUID(), fingerprint: "f", held_until: new Date() }),
  newcomers: (tenant_id) => ({ tenant_id }),
};

/** Partitions of the history are like it. */
export const sampleOf = (table: string): ((tenant: string) => Row) | undefined =>
  samples[table] ??
  (/^job_history_\d{8}$/.test(table)
    ? (tenant) => ({ ...samples["job_history"]?.(tenant), finished_at: dayOf(table) })
    : undefined);
const dayOf = (table: string): string => table.replace(/^job_history_(\d{4})(\d{2})(\d{2})$/, "$1-$2-$3");

export const insertOf = (table: string, row: Row): [string, unknown[]] => {
  const columns = Object.keys(row);
  return [
    `insert into doorbell.${table} (${columns.join(", ")}) values (${columns.map((_, n) => `$${n + 1}`).join(", ")})`,
    Object.values(row),
  ];
};
