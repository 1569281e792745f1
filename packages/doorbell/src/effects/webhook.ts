// The built-in effect "webhook": a signed POST with a stable id, under the ledger. To a URL of the handler's, or to the
// endpoints that the tenant has for this event. How it is sent, and which answer proves what, is webhooks/'s;
// docs/effects.md has the table.
import { type Duration, toMs } from "../core/duration.ts";
import { sha256Hex } from "../core/hash.ts";
import type { EffectAttempt, Ledger } from "./ledger.ts";
import { sendAsEffect, statusOf, type WebhookSettings } from "./webhooks/effect.ts";
import { type EndpointReceipt, sendToEndpoints } from "./webhooks/fan-out.ts";
import { hostOf } from "./webhooks/url.ts";

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

/** Without a URL: to every endpoint of the tenant that wants this event, signed with the endpoint's own secrets. */
export interface WebhookEvent extends Pick<WebhookRequest, "event" | "data" | "timeout"> {
  /** With the endpoint's id it is the effect's key. Default: the event, so that a second one of the same event needs one. */
  readonly key?: string;
  readonly url?: never;
  readonly secret?: never;
}

export interface WebhookReceipt {
  readonly status: number;
}

const defaultTimeout: Duration = "15s";

/** In doubt means "send again": the id is the same, and receivers are told to drop what they have seen. */
export function performWebhook(
  ledger: Ledger,
  attempt: EffectAttempt,
  request: WebhookRequest | WebhookEvent,
  settings: WebhookSettings,
): Promise<WebhookReceipt | readonly EndpointReceipt[]> {
  const { event, data } = request;
  const deadlineMs = toMs(request.timeout ?? defaultTimeout, "webhook timeout");
  if (!hasUrl(request)) {
    return sendToEndpoints(ledger, attempt, { event, data, key: webhookKey(request), deadlineMs }, settings);
  }
  const { url } = request;
  const key = webhookKey(request);
  const secrets = request.secret === undefined ? [] : [request.secret].flat();
  return ledger.perform<WebhookReceipt>(attempt, "webhook", key, {
    request: { url, event, data },
    onDoubt: "retry",
    do: async (context) => {
      const result = await sendAsEffect({ url, event, data, secrets, deadlineMs }, context, settings);
      return { status: statusOf(result, `webhook ${event} to ${hostOf(url)}`) };
    },
  });
}

/** The effect's key; for an event to endpoints what their keys begin with. */
export function webhookKey(request: WebhookRequest | WebhookEvent): string {
  const { event, key } = request;
  if (key !== undefined) return key;
  return hasUrl(request) ? `webhook:${event}:${sha256Hex(request.url).slice(0, 16)}` : `webhook:${event}`;
}

/** A URL that is there and is none is refused; it does not stand for "every endpoint". */
const hasUrl = (request: WebhookRequest | WebhookEvent): request is WebhookRequest => "url" in request;
