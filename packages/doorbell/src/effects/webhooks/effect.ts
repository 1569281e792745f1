// One webhook as the ledger calls it: under which id it is sent, and how the three ends of a transport become an effect's.
import { sha256Hex } from "../../core/hash.ts";
import { PermanentError, RetryAfterError } from "../../core/outcome.ts";
import { type EffectContext, EffectNotDone } from "../ledger.ts";
import type { WebhookResult } from "./classify.ts";
import type { SecretBox } from "./secrets.ts";
import { sendWebhook } from "./send.ts";

export interface WebhookSettings {
  /** Development only: lets webhooks reach private addresses. */
  readonly allowPrivate: boolean;
  readonly nowSeconds: () => number;
  /** Opens the secrets of endpoints. Null: there are no keys. */
  readonly secrets: SecretBox | null;
}

export interface Sending {
  readonly url: string;
  readonly event: string;
  readonly data: unknown;
  readonly secrets: readonly string[];
  readonly deadlineMs: number;
}

const responseMaxBytes = 65_536;

/** Sends it, once. The id is that of the effect, so a receiver can tell a repeat. Never throws. */
export function sendAsEffect(
  sending: Sending,
  { idempotencyKey, signal }: EffectContext,
  settings: WebhookSettings,
): Promise<WebhookResult> {
  return sendWebhook({
    ...sending,
    id: `msg_${sha256Hex(idempotencyKey).slice(0, 32)}`,
    timestampSeconds: settings.nowSeconds(),
    maxResponseBytes: responseMaxBytes,
    signal,
    allowPrivate: settings.allowPrivate,
  });
}

/** The status of a success. Throws what the ledger takes for "not done", or for "unknown". */
export function statusOf(result: WebhookResult, what: string): number {
  if (result.outcome === "completed") return result.status;
  const message = `${what}: ${result.reason}`;
  if (result.outcome === "unknown") throw new Error(message);
  const cause = new EffectNotDone(message);
  if (result.permanent) throw new PermanentError("webhook_refused", message, { cause });
  if (result.retryAfterMs !== undefined) throw new RetryAfterError(result.retryAfterMs, message, { cause });
  throw cause;
}
