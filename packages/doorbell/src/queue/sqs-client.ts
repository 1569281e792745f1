// The one place that knows the SDK of AWS, an optional peer: what is asked of SQS, in batches as it takes them. A queue that
// is not there is made, and made again when it was deleted. No retries: whoever called decides.
import type { SQSClient, SQSClientConfig } from "@aws-sdk/client-sqs";
import { DoorbellError } from "../core/errors.ts";

type Sdk = typeof import("@aws-sdk/client-sqs");

export type ImportSqs = () => Promise<unknown>;

export interface SqsSettings {
  /** A lane's queue is the name, and for others than the default lane a dash and the lane. */
  readonly queueName: (lane: string) => string;
  /** Whose queues they are; null: the caller's own. */
  readonly account: string | null;
  readonly region: string;
  readonly endpoint: string | null;
  readonly create: boolean;
  readonly visibilitySeconds: number;
}

export interface SqsEntry {
  readonly body: string;
  readonly group: string;
}

export interface SqsMessage {
  readonly lane: string;
  readonly queueUrl: string;
  readonly body: string;
  readonly receipt: string;
}

/** What SQS takes in one request. */
export const batchMax = 10;

const answerWithinMs = 10_000;
/** Requests at once; each has a connection. */
const atOnceMax = 10;
const unknownQueue: ReadonlySet<unknown> = new Set([
  "QueueDoesNotExist",
  "AWS.SimpleQueueService.NonExistentQueue",
  "NonExistentQueue",
]);
/** What a receipt that is stale, or of a queue that has gone, is answered with. */
const staleReceipt: ReadonlySet<unknown> = new Set([
  ...unknownQueue,
  "ReceiptHandleIsInvalid",
  "InvalidParameterValue",
  "InvalidParameterValueException",
  "MessageNotInflight",
]);

/** Throws peer_missing, with the way out. */
export async function loadSqs(importPeer: ImportSqs = () => import("@aws-sdk/client-sqs")): Promise<Sdk> {
  let loaded: unknown;
  try {
    loaded = await importPeer();
  } catch (cause) {
    throw new DoorbellError(
      "peer_missing",
      "an sqs: queue needs @aws-sdk/client-sqs: npm install @aws-sdk/client-sqs",
      {
        cause,
      },
    );
  }
  if (typeof (loaded as Partial<Sdk>).SQSClient !== "function")
    throw new DoorbellError("peer_missing", "this @aws-sdk/client-sqs has no SQSClient; install version 3 or newer");
  return loaded as Sdk;
}

export class SqsQueues {
  readonly #sdk: Sdk;
  readonly #settings: SqsSettings;
  readonly #client: SQSClient;
  readonly #urls = new Map<string, Promise<string>>();
  readonly #closed = new AbortController();

  constructor(sdk: Sdk, settings: SqsSettings) {
    this.#sdk = sdk;
    this.#settings = settings;
    const config: SQSClientConfig = { region: settings.region, maxAttempts: 1 };
    // An emulator tells URLs by its own idea of its name.
    this.#client = new sdk.SQSClient(
      settings.endpoint === null ? config : { ...config, endpoint: settings.endpoint, useQueueUrlAsEndpoint: false },
    );
  }

  /** What is under way rejects. */
  close(): void {
    this.#closed.abort();
    this.#client.destroy();
  }

  /** Rejects when SQS did not take all of them, or when that is not known. */
  async send(lane: string, entries: readonly SqsEntry[]): Promise<void> {
    await inBatches(entries, (batch) =>
      this.#withQueue(lane, async (QueueUrl) => {
        const Entries = batch.map(({ body, group }, index) => ({
          Id: String(index),
          MessageBody: body,
          MessageGroupId: group,
        }));
        const command = new this.#sdk.SendMessageBatchCommand({ QueueUrl, Entries });
        const { Failed = [] } = await this.#client.send(command, { abortSignal: this.#within(answerWithinMs) });
        if (Failed.length > 0)
          throw new Error(`${Failed.length} of ${batch.length} messages were not taken: ${Failed[0]?.Code}`);
      }),
    );
  }

  /** At most ten, and seldom all that are there. `waitSeconds` from 0 to 20. */
  receive(lane: string, max: number, waitSeconds: number, signal: AbortSignal): Promise<readonly SqsMessage[]> {
    return this.#withQueue(lane, async (QueueUrl) => {
      const command = new this.#sdk.ReceiveMessageCommand({
        QueueUrl,
        MaxNumberOfMessages: Math.min(batchMax, max),
        WaitTimeSeconds: waitSeconds,
        VisibilityTimeout: this.#settings.visibilitySeconds,
      });
      const abortSignal = AbortSignal.any([signal, this.#within(waitSeconds * 1_000 + answerWithinMs)]);
      const { Messages = [] } = await this.#client.send(command, { abortSignal });
      return Messages.map(
        ({ Body = "", ReceiptHandle = "" }): SqsMessage => ({
          lane,
          queueUrl: QueueUrl,
          body: Body,
          receipt: ReceiptHandle,
        }),
      );
    });
  }

  async delete(messages: readonly SqsMessage[]): Promise<void> {
    await this.#forEachQueue(messages, async (QueueUrl, Entries) => {
      const command = new this.#sdk.DeleteMessageBatchCommand({ QueueUrl, Entries });
      return (await this.#client.send(command, { abortSignal: this.#within(answerWithinMs) })).Failed;
    });
  }

  /** Others may have them now, and need not wait for the redelivery. */
  async giveBack(messages: readonly SqsMessage[]): Promise<void> {
    await this.#forEachQueue(messages, async (QueueUrl, receipts) => {
      const Entries = receipts.map((entry) => ({ ...entry, VisibilityTimeout: 0 }));
      const command = new this.#sdk.ChangeMessageVisibilityBatchCommand({ QueueUrl, Entries });
      return (await this.#client.send(command, { abortSignal: this.#within(answerWithinMs) })).Failed;
    });
  }

  /** Stale receipts are no error. */
  async #forEachQueue(
    messages: readonly SqsMessage[],
    request: (
      queueUrl: string,
      entries: { Id: string; ReceiptHandle: string }[],
    ) => Promise<readonly { readonly Code?: string | undefined }[] | undefined>,
  ): Promise<void> {
    const queueUrls = new Set(messages.map((message) => message.queueUrl));
    for (const queueUrl of queueUrls) {
      const ofQueue = messages.filter((message) => message.queueUrl === queueUrl);
      await inBatches(ofQueue, async (batch) => {
        const entries = batch.map(({ receipt }, index) => ({ Id: String(index), ReceiptHandle: receipt }));
        const failed = await request(queueUrl, entries).catch((error: unknown) => {
          if (staleReceipt.has(nameOf(error))) return [];
          throw error;
        });
        const refused = failed?.find(({ Code }) => !staleReceipt.has(Code));
        if (refused) throw new Error(`an acknowledgement was refused: ${refused.Code}`);
      });
    }
  }

  /** Once more when the queue turns out to have gone. */
  async #withQueue<T>(lane: string, request: (queueUrl: string) => Promise<T>): Promise<T> {
    const url = this.#urlOf(lane);
    try {
      return await request(await url);
    } catch (error) {
      if (!unknownQueue.has(nameOf(error))) throw error;
      if (this.#urls.get(lane) === url) this.#urls.delete(lane);
      return await request(await this.#urlOf(lane));
    }
  }

  #urlOf(lane: string): Promise<string> {
    const known = this.#urls.get(lane);
    if (known !== undefined) return known;
    const found: Promise<string> = this.#find(this.#settings.queueName(lane)).catch((error: unknown) => {
      if (this.#urls.get(lane) === found) this.#urls.delete(lane);
      throw error;
    });
    this.#urls.set(lane, found);
    return found;
  }

  async #find(QueueName: string): Promise<string> {
    const { account, create, visibilitySeconds } = this.#settings;
    const owner = account === null ? {} : { QueueOwnerAWSAccountId: account };
    const options = () => ({ abortSignal: this.#within(answerWithinMs) });
    try {
      const { QueueUrl = "" } = await this.#client.send(
        new this.#sdk.GetQueueUrlCommand({ QueueName, ...owner }),
        options(),
      );
      return QueueUrl;
    } catch (error) {
      if (!unknownQueue.has(nameOf(error))) throw error;
      if (!create) throw new Error(`queue ${QueueName} is not there, and create=0 forbids to make it`);
    }
    const Attributes = { VisibilityTimeout: String(visibilitySeconds) };
    const { QueueUrl = "" } = await this.#client.send(
      new this.#sdk.CreateQueueCommand({ QueueName, Attributes }),
      options(),
    );
    return QueueUrl;
  }

  #within(ms: number): AbortSignal {
    return AbortSignal.any([this.#closed.signal, AbortSignal.timeout(ms)]);
  }
}

async function inBatches<T>(list: readonly T[], request: (batch: readonly T[]) => Promise<void>): Promise<void> {
  const batches: (readonly T[])[] = [];
  for (let at = 0; at < list.length; at += batchMax) batches.push(list.slice(at, at + batchMax));
  const work = async (): Promise<void> => {
    for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) await request(batch);
  };
  await Promise.all(Array.from({ length: Math.min(atOnceMax, batches.length) }, work));
}

function nameOf(error: unknown): unknown {
  return (error as { readonly name?: unknown } | null)?.name;
}
