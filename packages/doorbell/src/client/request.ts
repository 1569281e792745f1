// From what a caller asks for to a row that can be sent: everything that can be refused is refused here, before any SQL,
// so that a bad enqueue never costs the caller its transaction.
import type { AnyJobDefinition } from "../core/definition.ts";
import { parsePayload } from "../core/definition.ts";
import { type Duration, toMs } from "../core/duration.ts";
import { DoorbellError } from "../core/errors.ts";
import { isUuid } from "../core/ids.ts";
import { assertStorableText, toStorableJson } from "../core/json.ts";
import { requireTenant } from "../core/tenant.ts";
import type { StoredObject } from "../objects/bucket.ts";
import type { EnqueueRow } from "../store/jobs.ts";

export interface EnqueueOptions {
  readonly tenant: string;
  /** A UUID of the caller's choice, best a v7. The same id again is the same job, whatever became of it. */
  readonly id?: string;
  /** Of any length up to 1 MB. The same key of the same kind again is the same job, for as long as its row lives. */
  readonly idempotencyKey?: string;
  /** Not before this instant, or not before this much has passed, on the database's clock. */
  readonly runAfter?: Date | Duration;
  /** -8 to 8; 0 by default. Each step doubles the job's share against the tenant's other jobs; nothing starves. */
  readonly priority?: number;
  readonly maxAttempts?: number;
  /** The input in the object store, as `objects.put` returned it: its key, size and hash go onto the row. */
  readonly object?: StoredObject;
  /** The key alone, where size and hash are not known; the first attempt then takes the bytes as they are. */
  readonly objectKey?: string;
  readonly limitKey?: string;
  readonly traceparent?: string;
}

const keyMaxBytes = 1_000_000;
const yearTenThousandMs = Date.UTC(10_000, 0);

/** Validates and resolves. Throws DoorbellError: tenant_invalid, payload_invalid, payload_too_large, value_not_storable, key_invalid, option_invalid. */
export async function enqueueRow(
  job: AnyJobDefinition,
  payload: unknown,
  options: EnqueueOptions,
  limits: { readonly valueMaxBytes: number },
): Promise<EnqueueRow> {
  const { id, idempotencyKey, priority = 0, maxAttempts = job.retry.maxAttempts } = options;
  const objectKey = options.object?.key ?? options.objectKey;
  if (id !== undefined && !isUuid(id))
    throw new DoorbellError(
      "option_invalid",
      `id "${String(id).slice(0, 60)}" of a job of kind ${job.kind} is not a UUID`,
    );
  if (!Number.isInteger(priority) || priority < -8 || priority > 8) {
    throw new DoorbellError(
      "option_invalid",
      `priority ${priority} of a job of kind ${job.kind} is not a whole number from -8 to 8`,
    );
  }
  if (!Number.isInteger(maxAttempts) || maxAttempts < 1 || maxAttempts > 1000) {
    throw new DoorbellError(
      "option_invalid",
      `maxAttempts ${maxAttempts} of a job of kind ${job.kind} is not a whole number from 1 to 1000`,
    );
  }
  assertKey("idempotencyKey", idempotencyKey, keyMaxBytes);
  assertKey("objectKey", objectKey, 1024);
  assertKey("limitKey", options.limitKey, 1024);
  assertKey("traceparent", options.traceparent, 256);
  const tenant = requireTenant(options.tenant);
  const stored = toStorableJson(payload ?? {}, { path: "payload", maxBytes: limits.valueMaxBytes });
  if (job.schema !== null) await parsePayload(job, payload ?? {});
  return {
    tenant,
    kind: job.kind,
    lane: job.lane,
    payload: stored.text,
    id: id ?? null,
    key: idempotencyKey ?? null,
    runAfter: runAfter(options.runAfter),
    priority,
    maxAttempts,
    objectKey: objectKey ?? null,
    objectSha256: options.object?.sha256 ?? null,
    objectSize: options.object?.size ?? null,
    limitKey: options.limitKey ?? null,
    traceparent: options.traceparent ?? null,
  };
}

function assertKey(name: string, text: string | undefined, maxBytes: number): void {
  if (text !== undefined) assertStorableText(text, { name, maxBytes, code: "key_invalid" });
}

/** An instant stays one; a delay is left to the database's clock. */
function runAfter(value: Date | Duration | undefined): EnqueueRow["runAfter"] {
  if (value === undefined) return null;
  if (!(value instanceof Date)) return { delayMs: toMs(value, "runAfter") };
  // Not NaN, and no year that Postgres would not read.
  const ms = value.getTime();
  if (!(ms >= 0 && ms < yearTenThousandMs)) {
    throw new DoorbellError("option_invalid", "runAfter is an invalid Date, or not one of the years 1970 to 9999");
  }
  return { at: value.toISOString() };
}
