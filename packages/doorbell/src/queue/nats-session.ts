// One connection to NATS and what is known on it: the only place that speaks JetStream. Doorbells lie in one work queue
// stream, with a subject and a durable pull consumer per lane; both are made when they are missed. A session ends with its
// connection, and the driver opens another at its next call.
import { setTimeout as delay } from "node:timers/promises";
import type { ConsumerConfig, JetStreamApiError, JetStreamManager, StreamConfig } from "@nats-io/jetstream";
import type { Msg, NatsConnection, RequestError } from "@nats-io/transport-node";
import { answered, type Closable, Unanswered } from "./connection.ts";

/** What we use of the libraries, optional peers. */
export interface NatsLibraries {
  readonly connect: typeof import("@nats-io/transport-node")["connect"];
  readonly createInbox: typeof import("@nats-io/transport-node")["createInbox"];
  readonly jetstreamManager: typeof import("@nats-io/jetstream")["jetstreamManager"];
}

export interface StreamSettings {
  readonly stream: string;
  /** The lane is its last token. */
  readonly subject: string;
  readonly storage: "file" | "memory";
  readonly replicas: number;
  readonly redeliverMs: number;
}

/** A message as it came, and the subject on which it is acknowledged. */
export interface Pulled {
  readonly text: string;
  readonly reply: string;
}

const answerWithinMs = 5_000;
/** The server answers a pull when its time is up. What is this late does not come. */
const lateMs = 2_000;
const nanosPerMs = 1_000_000;

/** How often a doorbell is given out that nobody acknowledges. The job is the record, and the sweeper rings again. */
const deliveriesMax = 10;
/** More at once would be out only where nobody acknowledges. */
const outMax = 10_000;
/** What nobody wanted for so long goes. The sweeper has rung for its job long before. */
const ageMaxMs = 86_400_000;

/** Deleting a stream takes the server a moment: one that is made again meanwhile would lose its files. */
const remakeAfterMs = 500;

const streamExists = [10_058];
const consumerExists = [10_013, 10_148];

export class NatsSession implements Closable {
  readonly #connection: NatsConnection;
  readonly #manager: JetStreamManager;
  readonly #createInbox: NatsLibraries["createInbox"];
  readonly #settings: StreamSettings;
  readonly #owned: boolean;
  /** Lanes whose consumer has been there. */
  readonly #known = new Set<string>();
  #sawStream = false;

  static async open(
    libraries: NatsLibraries,
    connect: () => Promise<NatsConnection>,
    settings: StreamSettings,
    { owned, onLost }: { readonly owned: boolean; readonly onLost: () => void },
  ): Promise<NatsSession> {
    const connection = await connect();
    try {
      const manager = await libraries.jetstreamManager(connection, { checkAPI: false, timeout: answerWithinMs });
      void connection.closed().then(onLost, onLost);
      return new NatsSession(connection, manager, libraries.createInbox, settings, owned);
    } catch (error) {
      if (owned) void connection.close().catch(() => {});
      throw error;
    }
  }

  private constructor(
    connection: NatsConnection,
    manager: JetStreamManager,
    createInbox: NatsLibraries["createInbox"],
    settings: StreamSettings,
    owned: boolean,
  ) {
    this.#connection = connection;
    this.#manager = manager;
    this.#createInbox = createInbox;
    this.#settings = settings;
    this.#owned = owned;
  }

  /** Resolves when the stream has them all. */
  async publish(lane: string, bodies: readonly string[]): Promise<void> {
    const unheard = await this.#publishOnce(lane, bodies);
    if (unheard.length === 0) return;
    // Nobody listens to the subject: the stream is not there, so none of these is in it.
    if (this.#sawStream) await delay(remakeAfterMs);
    await this.#makeStream();
    if ((await this.#publishOnce(lane, unheard)).length > 0)
      throw new Error(`no stream takes the subject ${this.#subjectOf(lane)}`);
  }

  /**
   * Pulls at most so many messages of a lane. Without waiting: those that are there. With: resolves when all have come or
   * the time is up. Each is given to `onMessage` as it comes.
   */
  async pull(lane: string, max: number, waitMs: number, onMessage: (message: Pulled) => void): Promise<void> {
    if (!this.#known.has(lane)) await this.#makeConsumer(lane);
    if (await this.#pullOnce(lane, max, waitMs, onMessage)) return;
    await delay(remakeAfterMs);
    await this.#makeConsumer(lane);
    if (!(await this.#pullOnce(lane, max, waitMs, onMessage)))
      throw new Error(`stream ${this.#settings.stream} has no consumer for lane ${lane}`);
  }

  /** Resolves when the server has read it. */
  async acknowledge(replies: readonly string[], answer: "+ACK" | "-NAK"): Promise<void> {
    for (const reply of replies) this.#connection.publish(reply, answer);
    await answered("an acknowledgement", answerWithinMs, this.#connection.flush());
  }

  end(): void {
    if (this.#owned) void this.#connection.close().catch(() => {});
  }

  /** Resolves with those that nobody heard. */
  async #publishOnce(lane: string, bodies: readonly string[]): Promise<readonly string[]> {
    const unheard: string[] = [];
    await Promise.all(
      bodies.map(async (body) => {
        const message = await this.#connection
          .request(this.#subjectOf(lane), body, { timeout: answerWithinMs })
          .catch((error: unknown) => {
            if (!isUnheard(error)) throw error;
            unheard.push(body);
            return null;
          });
        if (message === null) return;
        this.#sawStream = true;
        const { error } = message.json<{ readonly error?: { readonly description?: string } }>();
        if (error !== undefined) throw new Error(`the stream took nothing: ${error.description}`);
      }),
    );
    return unheard;
  }

  /** False when the consumer is not there. */
  async #pullOnce(lane: string, max: number, waitMs: number, onMessage: (message: Pulled) => void): Promise<boolean> {
    const inbox = this.#createInbox();
    const answers = this.#connection.subscribe(inbox);
    const request = waitMs > 0 ? { batch: max, expires: waitMs * nanosPerMs } : { batch: max, no_wait: true };
    this.#connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${this.#settings.stream}.${lane}`, JSON.stringify(request), {
      reply: inbox,
    });
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      answers.unsubscribe();
    }, waitMs + lateMs);
    let left = max;
    try {
      for await (const message of answers) {
        const status = statusOf(message);
        if (status === null) {
          onMessage({ text: message.string(), reply: message.reply ?? "" });
          left -= 1;
          if (left === 0) return true;
        } else if (status.code === 404 || status.code === 408) return true;
        else if (status.code === 503 || /deleted/i.test(status.description)) return this.#forget(lane);
        else if (status.code !== 100) throw new Error(`a pull was refused: ${status.description}`);
      }
    } finally {
      clearTimeout(timer);
      answers.unsubscribe();
    }
    if (isLate) return this.#forget(lane);
    throw new Error("the connection was closed");
  }

  #forget(lane: string): false {
    this.#known.delete(lane);
    return false;
  }

  async #makeStream(): Promise<void> {
    const { stream, subject, storage, replicas } = this.#settings;
    const config = {
      name: stream,
      subjects: [`${subject}.*`],
      retention: "workqueue",
      storage,
      num_replicas: replicas,
      max_age: ageMaxMs * nanosPerMs,
    } as Partial<StreamConfig> & { name: string };
    // Somebody else's settings for it are theirs to choose.
    await this.#manager.streams.add(config).catch((error: unknown) => passBy(error, streamExists));
    this.#sawStream = true;
  }

  async #makeConsumer(lane: string): Promise<void> {
    await this.#makeStream();
    const { stream, redeliverMs } = this.#settings;
    const changeable = {
      ack_wait: redeliverMs * nanosPerMs,
      max_deliver: deliveriesMax,
      max_ack_pending: outMax,
    };
    const config = {
      ...changeable,
      durable_name: lane,
      filter_subject: this.#subjectOf(lane),
      ack_policy: "explicit",
    } as Partial<ConsumerConfig>;
    const made = await this.#manager.consumers.add(stream, config).catch((error: unknown) => {
      passBy(error, consumerExists);
      return null;
    });
    if (made === null) await this.#manager.consumers.update(stream, lane, changeable);
    this.#known.add(lane);
  }

  #subjectOf(lane: string): string {
    return `${this.#settings.subject}.${lane}`;
  }
}

/** The server may have gone silently. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof Unanswered || (error as Partial<Error>).name === "TimeoutError";
}

/** What the server says of a pull, which is no message of the stream. */
function statusOf({ headers, data }: Msg): { readonly code: number; readonly description: string } | null {
  if (headers === undefined || headers.code === 0 || data.length > 0) return null;
  return { code: headers.code, description: headers.description };
}

function isUnheard(error: unknown): boolean {
  return (error as Partial<RequestError>).isNoResponders?.() === true;
}

function passBy(error: unknown, codes: readonly number[]): void {
  const code = (error as Partial<JetStreamApiError>).code;
  if (code === undefined || !codes.includes(code)) throw error;
}
