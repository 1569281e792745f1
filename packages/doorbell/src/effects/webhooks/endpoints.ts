// Endpoints of a tenant, as whoever administers them sees them: adding one, and giving it a new secret. A secret is shown
// once, as the answer; from then on it is in the database, sealed, and nowhere else.
import { type Duration, toMs } from "../../core/duration.ts";
import { DoorbellError } from "../../core/errors.ts";
import { newId } from "../../core/ids.ts";
import { assertStorableText } from "../../core/json.ts";
import type { Tx } from "../../store/database.ts";
import * as store from "../../store/webhooks.ts";
import { newWebhookSecret, type SecretBox } from "./secrets.ts";
import { refusePrivateAddress, webhookUrl } from "./url.ts";

/** The endpoint, and its secret: for the receiver, and not to be had again. */
export interface EndpointSecret {
  readonly id: string;
  readonly secret: string;
}

export interface EndpointRequest {
  readonly tenant: string;
  readonly url: string;
  /** Types of events, or "*" for all. */
  readonly events: readonly string[];
  /** Development only: also private addresses. */
  readonly allowPrivate: boolean;
}

const eventMaxBytes = 200;
const eventsMax = 100;
const overlapMaxMs = 2_592_000_000;

/** How long two secrets are valid, where nobody says. */
export const defaultOverlap: Duration = "24h";

/** Throws option_invalid for a URL or an event that is none, a private address, and one endpoint too many. */
export async function addEndpoint(tx: Tx, request: EndpointRequest, box: SecretBox): Promise<EndpointSecret> {
  const { tenant, events } = request;
  const url = webhookUrl(webhookUrl(request.url).href); // what is stored: escapes make it longer
  if (!request.allowPrivate) refusePrivateAddress(url);
  if (events.length === 0 || events.length > eventsMax)
    throw new DoorbellError("option_invalid", `an endpoint wants 1 to ${eventsMax} events, or "*" for all`);
  for (const event of events) requireEvent(event);
  const [id, secret] = [newId(), newWebhookSecret()];
  const sealed = box.seal(secret, { tenant, endpoint: id });
  const answer = await store.addEndpoint(tx, { tenant, id, url: url.href, events: [...new Set(events)], sealed });
  if (answer === "too_many")
    throw new DoorbellError("option_invalid", "the tenant has 100 endpoints already: remove one of them first");
  if (answer === "exists") throw new DoorbellError("option_invalid", `there is an endpoint ${id} already`);
  return { id, secret };
}

/** The new secret; the one before it stays valid for `overlap`, at most 30 days. Null: there is no such endpoint. */
export async function rotateSecret(
  tx: Tx,
  { tenant, id, overlap }: { readonly tenant: string; readonly id: string; readonly overlap: Duration },
  box: SecretBox,
): Promise<EndpointSecret | null> {
  const overlapMs = toMs(overlap, "overlap");
  if (overlapMs > overlapMaxMs) throw new DoorbellError("option_invalid", "overlap is longer than 30 days");
  const secret = newWebhookSecret();
  const sealed = box.seal(secret, { tenant, endpoint: id });
  return (await store.replaceSecret(tx, { tenant, id }, sealed, overlapMs)) ? { id, secret } : null;
}

/** The type of an event. Throws option_invalid. */
export function requireEvent(event: unknown): string {
  assertStorableText(event, { name: "webhook event", maxBytes: eventMaxBytes, code: "option_invalid" });
  if (event === "") throw new DoorbellError("option_invalid", "webhook event is empty");
  return event;
}
