// Statements about endpoints of webhooks, their sealed secrets, and what became of deliveries (functions/14_webhooks.sql).
import type { Tx } from "./database.ts";
import type { EffectOutcome } from "./ledger.ts";

export interface WebhookEndpoint {
  readonly id: string;
  readonly url: string;
  /** `*`: all. */
  readonly events: readonly string[];
  readonly state: "active" | "disabled";
  readonly disabled_reason: string | null;
  readonly disabled_at: Date | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  /** While a secret is being replaced: until when the one before it is valid. */
  readonly old_secret_until: Date | null;
}

const endpointColumns = `w.id, w.url, w.events, w.state, w.disabled_reason, w.disabled_at, w.created_at, w.updated_at,
  (select max(s.expires_at) from doorbell.webhook_secrets s
    where s.tenant_id = w.tenant_id and s.endpoint_id = w.id and s.expires_at > now()) as old_secret_until`;

/** In the order in which they were added. Under the tenant's clamp. */
export function listEndpoints(tx: Tx, tenant: string): Promise<readonly WebhookEndpoint[]> {
  return tx.query<WebhookEndpoint>(
    `select ${endpointColumns} from doorbell.webhook_endpoints w where w.tenant_id = $1 order by w.created_at, w.id`,
    [tenant],
  );
}

/** Null: this tenant has no such endpoint. Under the tenant's clamp. */
export async function getEndpoint(tx: Tx, tenant: string, id: string): Promise<WebhookEndpoint | null> {
  const [row] = await tx.query<WebhookEndpoint>(
    `select ${endpointColumns} from doorbell.webhook_endpoints w where w.tenant_id = $1 and w.id = ($2::text)::uuid`,
    [tenant, id],
  );
  return row ?? null;
}

export interface NewEndpoint {
  readonly tenant: string;
  readonly id: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly sealed: Uint8Array;
}

export async function addEndpoint(tx: Tx, endpoint: NewEndpoint): Promise<"added" | "exists" | "too_many"> {
  const { tenant, id, url, events, sealed } = endpoint;
  const [row] = await tx.query<{ answer: "added" | "exists" | "too_many" }>(
    `select doorbell.add_webhook($1, ($2::text)::uuid, $3,
       array(select jsonb_array_elements_text(($4::text)::jsonb)), decode($5::text, 'hex')) as answer`,
    [tenant, id, url, JSON.stringify(events), hexOf(sealed)],
  );
  return row?.answer ?? "exists";
}

/** False: there was none. */
export async function removeEndpoint(tx: Tx, tenant: string, id: string): Promise<boolean> {
  const [row] = await tx.query<{ gone: boolean }>("select doorbell.remove_webhook($1, ($2::text)::uuid) as gone", [
    tenant,
    id,
  ]);
  return row?.gone === true;
}

/** False: there is no such endpoint. */
export async function replaceSecret(
  tx: Tx,
  place: { readonly tenant: string; readonly id: string },
  sealed: Uint8Array,
  overlapMs: number,
): Promise<boolean> {
  const [row] = await tx.query<{ there: boolean }>(
    "select doorbell.rotate_webhook($1, ($2::text)::uuid, decode($3::text, 'hex'), ($4::text)::float8) as there",
    [place.tenant, place.id, hexOf(sealed), String(overlapMs)],
  );
  return row?.there === true;
}

export type StateAnswer = "changed" | "unchanged" | "not_found";

/** The reason (at most 1,000 bytes) is that of disabling; null for enabling. */
export async function setEndpointState(
  tx: Tx,
  place: { readonly tenant: string; readonly id: string },
  state: WebhookEndpoint["state"],
  reason: string | null,
): Promise<StateAnswer> {
  const [row] = await tx.query<{ answer: StateAnswer }>(
    "select doorbell.set_webhook_state($1, ($2::text)::uuid, $3, $4) as answer",
    [place.tenant, place.id, state, reason],
  );
  return row?.answer ?? "not_found";
}

/** The active endpoints that want this event, in order of their ids. */
export async function endpointsFor(tx: Tx, tenant: string, event: string): Promise<readonly string[]> {
  const [row] = await tx.query<{ ids: readonly string[] }>("select doorbell.webhooks_for($1, $2)::text[] as ids", [
    tenant,
    event,
  ]);
  return row?.ids ?? [];
}

export interface EndpointTarget {
  readonly url: string;
  readonly state: WebhookEndpoint["state"];
  readonly disabledReason: string | null;
  /** Those that are valid now, sealed, the newest first. */
  readonly sealed: readonly Uint8Array[];
}

/** Null: it was removed, or never was this tenant's. */
export async function endpointTarget(tx: Tx, tenant: string, id: string): Promise<EndpointTarget | null> {
  const [row] = await tx.query<Omit<EndpointTarget, "sealed"> & { readonly secrets: readonly string[] }>(
    `select t.url, t.state, t.disabled_reason as "disabledReason",
            array(select encode(s, 'hex') from unnest(t.secrets) with ordinality u(s, n) order by n) as secrets
       from doorbell.webhook_target($1, ($2::text)::uuid) t`,
    [tenant, id],
  );
  if (row === undefined) return null;
  const { secrets, ...target } = row;
  return { ...target, sealed: secrets.map((hex) => Buffer.from(hex, "hex")) };
}

export interface DeliveryRecord {
  readonly tenant: string;
  readonly job: string;
  readonly endpoint: string;
  /** Of the effect. */
  readonly key: string;
  readonly attempt: number;
  readonly outcome: EffectOutcome;
  /** Null: no answer. */
  readonly status: number | null;
  readonly tookMs: number;
  /** At most 1,000 bytes. */
  readonly reason: string | null;
}

export async function tellDelivery(tx: Tx, record: DeliveryRecord): Promise<void> {
  const { tenant, job, key, attempt, endpoint, outcome, status, tookMs, reason } = record;
  await tx.query(
    "select doorbell.tell_delivery($1, ($2::text)::uuid, $3, $4::int, ($5::text)::uuid, $6, $7::int, $8::int, $9)",
    [tenant, job, key, attempt, endpoint, outcome, status, tookMs, reason],
  );
}

export interface WebhookDelivery {
  readonly id: string;
  readonly job_id: string;
  readonly endpoint_id: string;
  readonly key: string;
  readonly attempt: number;
  readonly outcome: EffectOutcome;
  readonly status: number | null;
  readonly took_ms: number;
  readonly reason: string | null;
  readonly at: Date;
}

/** The newest first. Null: of any endpoint, of any job. Under the tenant's clamp. */
export function listDeliveries(
  tx: Tx,
  tenant: string,
  filter: { readonly endpoint: string | null; readonly job: string | null; readonly limit: number },
): Promise<readonly WebhookDelivery[]> {
  return tx.query<WebhookDelivery>(
    `select id, job_id, endpoint_id, key, attempt, outcome, status, took_ms, reason, at from doorbell.webhook_deliveries
      where tenant_id = $1 and ($2::text is null or endpoint_id = ($2::text)::uuid)
        and ($3::text is null or job_id = ($3::text)::uuid)
      order by id desc limit $4::int`,
    [tenant, filter.endpoint, filter.job, filter.limit],
  );
}

/** Whether any tenant has an endpoint. */
export async function hasEndpoints(tx: Tx): Promise<boolean> {
  const [row] = await tx.query<{ there: boolean }>("select doorbell.has_webhooks() as there");
  return row?.there === true;
}

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
