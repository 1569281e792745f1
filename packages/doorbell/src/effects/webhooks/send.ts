// Sends one webhook, once. Owns the request: its bytes, headers, deadline, and what is read of the answer.
// It never retries, never follows a redirect, never speaks to an address that is not public, and never throws: every
// end is one of the three outcomes.
import { Client, type Dispatcher } from "undici";
import { toMs } from "../../core/duration.ts";
import { DoorbellError } from "../../core/errors.ts";
import { describeFailure } from "../../core/failure.ts";
import { assertStorableText, toStorableJson } from "../../core/json.ts";
import { safeText } from "../../core/scrub.ts";
import { startDeadline } from "../deadline.ts";
import { isPublicAddress } from "./address.ts";
import { classifyAnswer, classifyFailure, type WebhookResult } from "./classify.ts";
import { guardedConnector, type ResolveHost } from "./guarded-connector.ts";
import { webhookSignature } from "./signature.ts";
import { webhookUrl } from "./url.ts";

export interface WebhookRequest {
  readonly url: string;
  /** The same for every attempt at one event: receivers tell repeats by it. Printable ASCII. */
  readonly id: string;
  /** What happened, as in "invoice.accepted". */
  readonly event: string;
  readonly data: unknown;
  /** When it happened: the `timestamp` of the body. Left out of the body if unknown. */
  readonly occurredAt?: Date | undefined;
  readonly secret?: string | undefined;
  /** While a secret is being rotated: the new one and the old one. */
  readonly secrets?: readonly string[] | undefined;
  /** The time of this attempt, signed: receivers refuse what is older than five minutes. */
  readonly timestampSeconds: number;
  /** For all of it: resolving, connecting, sending, and reading the answer. At most ten minutes. */
  readonly deadlineMs: number;
  /** How much of an answer that is no success is read. Default, and at most: 64 KB. */
  readonly maxResponseBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Development only: also loopback and private addresses. */
  readonly allowPrivate?: boolean | undefined;
}

export interface WebhookParts {
  /** Default: the resolver of the system. */
  readonly resolve?: ResolveHost;
}

const bodyMaxBytes = 1_048_576;
const responseMaxBytes = 65_536;
/** What a reason quotes of the answer. */
const excerptMaxBytes = 300;

/** Sends the webhook and says what became of it. Any 2xx is a success, whatever follows its head. */
export async function sendWebhook(request: WebhookRequest, parts: WebhookParts = {}): Promise<WebhookResult> {
  let prepared: Prepared;
  try {
    prepared = prepare(request);
  } catch (error) {
    return { outcome: "not_done", reason: describeFailure(error).message, permanent: true };
  }
  const deadline = startDeadline(prepared.deadlineMs, request.signal);
  try {
    return await exchange(prepared, request, parts, deadline.signal);
  } finally {
    deadline.stop();
  }
}

interface Prepared {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly deadlineMs: number;
}

/** Everything that can be refused without a connection. Throws operating errors. */
function prepare(request: WebhookRequest): Prepared {
  const { id, event, data, occurredAt } = request;
  if (!/^[\x21-\x7e]{1,300}$/.test(id))
    throw new DoorbellError("key_invalid", "webhook id is not 1 to 300 characters of printable ASCII");
  assertStorableText(event, { name: "webhook event", maxBytes: 200 });
  const timestamp = occurredAt === undefined ? {} : { timestamp: occurredAt.toISOString() };
  const json = toStorableJson({ type: event, ...timestamp, data }, { path: "webhook", maxBytes: bodyMaxBytes });
  const body = Buffer.from(json.text, "utf8");
  const secrets = request.secrets ?? (request.secret === undefined ? [] : [request.secret]);
  const signature =
    secrets.length === 0 ? {} : { "webhook-signature": webhookSignature(secrets, id, request.timestampSeconds, body) };
  return {
    url: webhookUrl(request.url),
    headers: {
      "content-type": "application/json",
      "user-agent": "doorbell-jobs",
      "webhook-id": id,
      "webhook-timestamp": String(request.timestampSeconds),
      ...signature,
    },
    body,
    deadlineMs: toMs(request.deadlineMs, "webhook deadline"),
  };
}

async function exchange(
  { url, headers, body, deadlineMs }: Prepared,
  request: WebhookRequest,
  parts: WebhookParts,
  signal: AbortSignal,
): Promise<WebhookResult> {
  if (signal.aborted) return classifyFailure(signal.reason, url.host, false);
  let sent = false;
  const connect = guardedConnector({
    isAllowed: request.allowPrivate === true ? () => true : isPublicAddress,
    timeoutMs: deadlineMs,
    resolve: parts.resolve,
  });
  // A connection of its own: one that was kept alive may be closed by the receiver just as the request is written, and
  // that would be an unknown outcome for nothing. The one deadline covers what the client's own timeouts would.
  const client = new Client(url.origin, { connect, headersTimeout: 0, bodyTimeout: 0, maxRequestsPerClient: 1 });
  client.once("connect", () => {
    sent = true;
  });
  // The client looks at a request's signal once it is connected; before, only its own end sets the request free.
  const giveUp = (): void => void client.destroy(signal.reason as Error).catch(() => {});
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    const path = `${url.pathname}${url.search}`;
    const answer = await client.request({ method: "POST", path, headers, body, signal });
    const said = await summarise(answer, url.host, request.maxResponseBytes);
    return { ...classifyAnswer(said, request.timestampSeconds), status: said.status };
  } catch (error) {
    return classifyFailure(error, url.host, sent);
  } finally {
    giveUp();
  }
}

async function summarise(answer: Dispatcher.ResponseData, host: string, maxBytes = responseMaxBytes) {
  const { statusCode: status, headers, body } = answer;
  const retryAfter = headers["retry-after"];
  const success = status >= 200 && status < 300;
  const excerpt = success ? "" : await readExcerpt(body, Math.min(maxBytes, responseMaxBytes));
  // From here on the body may fail as it likes: it has been read, or nobody wants it.
  body.on("error", () => {});
  body.destroy();
  const said = excerpt === "" ? "" : `: ${excerpt}`;
  return {
    status,
    retryAfter: typeof retryAfter === "string" ? retryAfter : null,
    summary: `${host} answered ${status}${said}`,
  };
}

/** The beginning of the body. A body that drips, breaks off or never ends has no say: the status line was the answer. */
async function readExcerpt(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= maxBytes) break;
    }
  } catch {
    // What has come so far is enough for a message.
  }
  const text = Buffer.concat(chunks).subarray(0, maxBytes).toString("utf8");
  return safeText(text.replace(/\s+/g, " ").trim(), excerptMaxBytes);
}
