// The built-in effect "webhook": a signed POST with a stable id, under the ledger. How it is sent, and which answer
// proves what, is webhooks/'s; docs/effects.md has the table.
import { type Duration, toMs } from "../core/duration.ts";
import { sha256Hex } from "../core/hash.ts";
import { PermanentError, RetryAfterError } from "../core/outcome.ts";
import { type EffectAttempt, EffectNotDone, type Ledger } from "./ledger.ts";
import { sendWebhook } from "./webhooks/send.ts";

export interface WebhookRequest {
  readonly url: string;
  /** Its type, such as "invoice.extracted". */
  readonly event: string;
  /** JSON. Keep it small: ids, and let the receiver ask. */
  readonly data: unknown;
  /** `whsec_…`; several while one is being replaced: the receiver accepts any of the signatures. */
  readonly secret?: string | readonly string[];
  /** The effect's key. Default: made of event and URL, so that a second webhook of the same event and URL needs one. */
  readonly key?: string;
  /** For connect, headers and body together. Default 15 s. */
  readonly timeout?: Duration;
}

export interface WebhookReceipt {
  readonly status: number;
}

export interface WebhookSettings {
  /** Development only: lets webhooks reach private addresses. */
  readonly allowPrivate: boolean;
  readonly nowSeconds: () => number;
}

const responseMaxBytes = 65_536;

/** In doubt means "send again": the id is the same, and receivers are told to drop what they have seen. */
export function performWebhook(
  ledger: Ledger,
  attempt: EffectAttempt,
  request: WebhookRequest,
  settings: WebhookSettings,
): Promise<WebhookReceipt> {
  const { url, event, data } = request;
  const key = request.key ?? `webhook:${event}:${sha256Hex(url).slice(0, 16)}`;
  const deadlineMs = toMs(request.timeout ?? "15s", "webhook timeout");
  return ledger.perform<WebhookReceipt>(attempt, "webhook", key, {
    request: { url, event, data },
    onDoubt: "retry",
    do: async ({ idempotencyKey, signal }) => {
      const result = await sendWebhook({
        url,
        id: `msg_${sha256Hex(idempotencyKey).slice(0, 32)}`,
        event,
        data,
        secrets: request.secret === undefined ? [] : [request.secret].flat(),
        timestampSeconds: settings.nowSeconds(),
        deadlineMs,
        maxResponseBytes: responseMaxBytes,
        signal,
        allowPrivate: settings.allowPrivate,
      });
      if (result.outcome === "completed") return { status: result.status };
      const message = `webhook ${event} to ${hostOf(url)}: ${result.reason}`;
      if (result.outcome === "unknown") throw new Error(message);
      const cause = new EffectNotDone(message);
      if (result.permanent) throw new PermanentError("webhook_refused", message, { cause });
      if (result.retryAfterMs !== undefined) throw new RetryAfterError(result.retryAfterMs, message, { cause });
      throw cause;
    },
  });
}

/** A URL may carry secrets in its path and query. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "an invalid URL";
}
