// sqs: a standard queue of AWS per lane. A tenant is a message group, so that SQS serves them fairly. What was given out and
// not acknowledged becomes visible again after the redelivery time.
//
// Entry point `doorbell-jobs/sqs`.
import { defaultLane } from "../core/definition.ts";
import { DoorbellError } from "../core/errors.ts";
import { sha256Hex } from "../core/hash.ts";
import { parseBody } from "./body.ts";
import type { Delivery, QueueDriver } from "./driver.ts";
import { QueueUrl } from "./parameters.ts";
import { type ImportSqs, loadSqs, type SqsMessage, SqsQueues, type SqsSettings } from "./sqs-client.ts";
import { SqsPolls } from "./sqs-polls.ts";

export interface SqsOptions {
  /** `sqs://sqs.REGION.amazonaws.com/ACCOUNT/NAME`, with settings as parameters of its query. */
  readonly url: string;
}

/** Asks nothing of AWS before the first call. Throws option_invalid, peer_missing. */
export async function sqsDriver(options: SqsOptions, importPeer?: ImportSqs): Promise<QueueDriver> {
  const settings = readUrl(options.url);
  const queues = new SqsQueues(await loadSqs(importPeer), settings);
  const polls = new SqsPolls(queues);
  let isClosed = false;
  const requireOpen = (): void => {
    if (isClosed) throw new DoorbellError("closed", "queue sqs is closed");
  };

  return {
    name: "sqs",
    capabilities: { line: false, sent: true, inProcess: false, redelivers: true },
    async send(lane, doorbells) {
      requireOpen();
      const entries = doorbells.map((doorbell) => ({ body: asciiJson(doorbell), group: groupOf(doorbell.tenant_id) }));
      await queues.send(lane, entries).catch((error: unknown) => {
        throw unavailable(error);
      });
    },
    async receive({ lanes, max, waitMs, signal }) {
      requireOpen();
      if (signal.aborted) return [];
      try {
        const messages = await polls.take(lanes, max, waitMs, signal);
        return messages.map((message): Delivery => ({ body: parseBody(message.body), handle: message }));
      } catch (error) {
        if (isClosed || signal.aborted) return [];
        throw unavailable(error);
      }
    },
    async ack(deliveries) {
      if (isClosed) return;
      const messages = deliveries.map(({ handle }) => handle as SqsMessage);
      await queues.delete(messages).catch((error: unknown) => {
        throw unavailable(error);
      });
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      await polls.close();
      queues.close();
    },
  };
}

function readUrl(text: string): SqsSettings {
  const given = new QueueUrl(text, "sqs");
  const { host, pathname } = given.url;
  if (given.url.username !== "" || given.url.password !== "")
    throw given.refused("credentials do not belong in it; they are taken the usual way of AWS (AWS_ACCESS_KEY_ID, …)");
  const path = /^\/(?:(\d{1,20})\/)?([\w-]{1,80}(?:\.fifo)?)\/?$/.exec(pathname);
  const [, account = null, name = ""] = path ?? [];
  if (path === null)
    throw given.refused("after the host stands /ACCOUNT/NAME or /NAME, the name of letters, digits, - and _");
  if (name.endsWith(".fifo"))
    throw given.refused("a FIFO queue would order and deduplicate, which Postgres does already; name a standard queue");
  const endpoint = given.text("endpoint");
  if (endpoint !== null && !/^https?:$/.test(URL.canParse(endpoint) ? new URL(endpoint).protocol : ""))
    throw given.refused("endpoint is not an http: or https: URL");
  const inHost = /^(?:[\w-]+\.)?sqs(?:-fips)?\.([a-z0-9-]+)\.(?:vpce\.)?amazonaws\.com(?:\.cn)?$/.exec(host)?.[1];
  if (inHost === undefined && endpoint === null)
    throw given.refused("its host is not one of SQS (sqs.REGION.amazonaws.com); an emulator is named with endpoint=");
  const region = given.text("region") ?? inHost;
  if (region === undefined) throw given.refused("it names no region; add region=");
  const create = given.flag("create", true);
  const visibilitySeconds = Math.ceil(given.duration("redeliver", "30s", "1s", "12h") / 1_000);
  given.requireNothingLeft();
  // The SDK makes the usual host from the region by itself; others, as a VPC's, have to be told.
  const isUsual = inHost !== undefined && host.startsWith(`sqs.${inHost}.amazonaws.com`);
  return {
    queueName: (lane) => {
      const queueName = lane === defaultLane ? name : `${name}-${lane}`;
      if (queueName.length > 80) throw given.refused(`with lane ${lane} its name has more than 80 characters`);
      return queueName;
    },
    account,
    region,
    endpoint: endpoint ?? (isUsual ? null : `https://${host}`),
    create,
    visibilitySeconds,
  };
}

/** SQS refuses some characters that tenants may have. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** A message group is named by up to 128 printable characters; other tenants go by their hash. */
export function groupOf(tenant: string): string {
  return /^[!-~]{1,128}$/.test(tenant) ? tenant : sha256Hex(tenant);
}

/** Without a cause: it would carry the request, and how it was signed. */
function unavailable(error: unknown): DoorbellError {
  if (DoorbellError.isInstance(error)) return error;
  const { name, message, code } = error as {
    readonly name?: string;
    readonly message?: string;
    readonly code?: string;
  };
  const said = name === "AbortError" || name === "TimeoutError" ? "it did not answer in time" : message;
  return new DoorbellError("queue_unavailable", `sqs: ${said || code || name || "it could not be reached"}`);
}
