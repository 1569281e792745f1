// One event to all endpoints of the tenant that want it: an effect for each, with an outcome of its own. One that fails
// keeps none of the others from being sent to, and none that has taken it is sent to again.
import { DoorbellError } from "../../core/errors.ts";
import { PermanentError, RetryAfterError } from "../../core/outcome.ts";
import { safeText } from "../../core/scrub.ts";
import * as store from "../../store/webhooks.ts";
import { type EffectAttempt, type EffectContext, EffectNotDone, type Ledger } from "../ledger.ts";
import type { WebhookResult } from "./classify.ts";
import { sendAsEffect, statusOf, type WebhookSettings } from "./effect.ts";
import { requireEvent } from "./endpoints.ts";
import { hostOf } from "./url.ts";

/** What became of an event at one endpoint: it was taken, or is not sent there. */
export type EndpointReceipt =
  | { readonly endpoint: string; readonly status: number }
  | { readonly endpoint: string; readonly skipped: "disabled" | "removed" };

export interface EventToSend {
  readonly event: string;
  readonly data: unknown;
  /** With the endpoint's id, the key of an effect. */
  readonly key: string;
  readonly deadlineMs: number;
}

/** At once: a tenant has 100 endpoints at most, and a slow one must not hold up all others. */
const atOnce = 10;
const gone = 410;
const reasonMaxBytes = 1_000;
/** Of those that have not taken it, so many are named in the error. */
const namedMax = 3;

/**
 * Resolves when every endpoint has taken it or is not to be sent to. Else, when all have been tried, it throws: an error
 * that is retried as long as one of the failures may pass (after the longest Retry-After), and else a PermanentError.
 */
export async function sendToEndpoints(
  ledger: Ledger,
  attempt: EffectAttempt,
  toSend: EventToSend,
  settings: WebhookSettings,
): Promise<readonly EndpointReceipt[]> {
  requireEvent(toSend.event);
  const endpoints = await decide(ledger, attempt, toSend);
  const receipts: EndpointReceipt[] = [];
  const failures: unknown[] = [];
  const queue = [...endpoints];
  const sendNext = async (): Promise<void> => {
    for (let endpoint = queue.shift(); endpoint !== undefined; endpoint = queue.shift()) {
      try {
        receipts.push(await sendToOne(ledger, attempt, endpoint, toSend, settings));
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, queue.length) }, sendNext));
  if (failures.length > 0) throw together(failures, toSend.event, endpoints.length);
  return endpoints.flatMap((id) => receipts.find(({ endpoint }) => endpoint === id) ?? []);
}

/**
 * The endpoints, as the first attempt found them: they are the value of an effect of their own, so no retry and no replay
 * comes to others. What can fail is done before that effect, which therefore cannot.
 */
async function decide(ledger: Ledger, attempt: EffectAttempt, { event, key }: EventToSend): Promise<readonly string[]> {
  const wanting = await store.endpointsFor(ledger.tx, attempt.fence.tenant, event);
  return await ledger.perform(attempt, "webhook", `${key}:endpoints`, { onDoubt: "retry", do: () => wanting });
}

async function sendToOne(
  ledger: Ledger,
  attempt: EffectAttempt,
  endpoint: string,
  toSend: EventToSend,
  settings: WebhookSettings,
): Promise<EndpointReceipt> {
  const { event, data } = toSend;
  const { tenant } = attempt.fence;
  const key = `${toSend.key}:${endpoint}`;
  const told: Told[] = []; // one, unless nothing was sent
  try {
    return await ledger.perform<EndpointReceipt>(attempt, "webhook", key, {
      request: { event, data },
      onDoubt: "retry",
      do: async (context) => {
        const target = await readTarget(ledger, tenant, endpoint, settings);
        const sent = await timed(toSend, target, context, settings);
        told.push(sent);
        return {
          endpoint,
          status: statusOf(sent.result, `webhook ${event} to endpoint ${endpoint} (${hostOf(target.url)})`),
        };
      },
    });
  } catch (error) {
    if (told[0]?.result.status === gone) return await takeAway(ledger, attempt, endpoint, event);
    if (!(error instanceof Skipped)) throw error;
    attempt.log().warn(`webhook ${event}: endpoint ${endpoint} was skipped: it ${error.why}`, { endpoint });
    return { endpoint, skipped: error.skipped };
  } finally {
    for (const sent of told) await tell(ledger, attempt, { endpoint, key, ...sent });
  }
}

interface Told {
  readonly result: WebhookResult;
  readonly tookMs: number;
}

/** The endpoint is not to be sent to, and was not. */
class Skipped extends EffectNotDone {
  readonly skipped: "disabled" | "removed";
  readonly why: string;

  constructor(skipped: "disabled" | "removed", why: string) {
    super(`not sent: the endpoint ${why}`);
    this.skipped = skipped;
    this.why = why;
  }
}

interface Target {
  readonly url: string;
  readonly secrets: readonly string[];
}

/** Read again for each attempt: it may have been disabled, and its secret rotated. Throws EffectNotDone. */
async function readTarget(
  ledger: Ledger,
  tenant: string,
  endpoint: string,
  settings: WebhookSettings,
): Promise<Target> {
  let target: store.EndpointTarget | null;
  try {
    target = await store.endpointTarget(ledger.tx, tenant, endpoint);
  } catch (error) {
    throw new EffectNotDone(`not sent: endpoint ${endpoint} could not be read`, { cause: error });
  }
  if (target === null) throw new Skipped("removed", "was removed");
  if (target.state === "disabled")
    throw new Skipped("disabled", `is disabled (${target.disabledReason ?? "no reason"})`);
  const box = settings.secrets;
  if (box === null)
    throw new EffectNotDone(
      `not sent to endpoint ${endpoint}: there is no key for its secret; set DOORBELL_SECRET_KEYS`,
    );
  const secrets = target.sealed.flatMap((sealed) => box.open(sealed, { tenant, endpoint }) ?? []);
  // A receiver that knows only the secret that does not open would refuse what is signed with the other.
  if (secrets.length === 0 || secrets.length < target.sealed.length)
    throw new EffectNotDone(
      `not sent to endpoint ${endpoint}: its secret does not open with DOORBELL_SECRET_KEYS; give back the key that sealed it, or rotate it`,
    );
  return { url: target.url, secrets };
}

async function timed(
  { event, data, deadlineMs }: EventToSend,
  { url, secrets }: Target,
  context: EffectContext,
  settings: WebhookSettings,
): Promise<Told> {
  const startedAtMs = performance.now();
  const result = await sendAsEffect({ url, event, data, secrets, deadlineMs }, context, settings);
  return { result, tookMs: Math.round(performance.now() - startedAtMs) };
}

/** The receiver has said that this endpoint is gone for good: no event is sent there until a person enables it again. */
async function takeAway(
  ledger: Ledger,
  attempt: EffectAttempt,
  endpoint: string,
  event: string,
): Promise<EndpointReceipt> {
  const { tenant, id } = attempt.fence;
  const reason = `it answered 410 Gone to job ${id}`;
  await store.setEndpointState(ledger.tx, { tenant, id: endpoint }, "disabled", reason);
  attempt
    .log()
    .warn(`webhook ${event}: endpoint ${endpoint} answered 410 Gone and is disabled from now on`, { endpoint });
  return { endpoint, skipped: "disabled" };
}

/** For people. The ledger has what counts, so a row that cannot be written fails nothing. */
async function tell(
  ledger: Ledger,
  attempt: EffectAttempt,
  { endpoint, key, result, tookMs }: Told & { readonly endpoint: string; readonly key: string },
): Promise<void> {
  const { tenant, id: job, attempt: number } = attempt.fence;
  const { outcome, status = null } = result;
  const reason = result.outcome === "completed" ? null : safeText(result.reason, reasonMaxBytes);
  try {
    await store.tellDelivery(ledger.tx, {
      tenant,
      job,
      endpoint,
      key,
      attempt: number,
      outcome,
      status,
      tookMs,
      reason,
    });
  } catch (error) {
    attempt.log().warn("a delivery of a webhook could not be written down", { endpoint, error });
  }
}

/** One error for all that failed. Trouble of our own, such as a lease that is lost, goes first, as it is. */
function together(failures: readonly unknown[], event: string, endpoints: number): unknown {
  const ours = failures.find((failure) => DoorbellError.isInstance(failure));
  if (ours !== undefined) return ours;
  const passing = failures.filter((failure) => !PermanentError.isInstance(failure));
  const named = failures.slice(0, namedMax).map((failure) => (failure as Error).message);
  const rest = failures.length > namedMax ? [`and ${failures.length - namedMax} more`] : [];
  const message = `webhook ${event}: ${failures.length} of ${endpoints} endpoints have not taken it: ${[...named, ...rest].join("; ")}`;
  const options = { cause: failures[0] };
  if (passing.length === 0) return new PermanentError("webhook_refused", message, options);
  const delays = passing.flatMap((failure) => (RetryAfterError.isInstance(failure) ? failure.delayMs : []));
  return delays.length > 0 ? new RetryAfterError(Math.max(...delays), message, options) : new Error(message, options);
}
