// One connection to RabbitMQ: a channel that publishes and one that receives. It lives and dies as a whole: whatever goes
// wrong with a part of it ends it, what it had received goes back, and the driver opens another at its next call.
import { setTimeout as sleep } from "node:timers/promises";
import type { Channel, ChannelModel, ConfirmChannel, ConsumeMessage } from "amqplib";
import { answered, Unanswered } from "./connection.ts";

/** What we use of the library, an optional peer. */
export type Amqplib = Pick<typeof import("amqplib"), "connect">;

export interface LinkOptions {
  readonly amqplib: Amqplib;
  readonly url: string;
  /** How queues are declared before their first use; null: somebody else has made them. */
  readonly queueArguments: Readonly<Record<string, string | number>> | null;
  /** What was received and not acknowledged for so long goes back to the queue. */
  readonly redeliverMs: number;
}

/** A message that was received. `isOver`: acknowledged, given back, or lost with its link. */
export interface Held {
  readonly link: Link;
  readonly queue: string;
  readonly message: ConsumeMessage;
  readonly receivedAtMs: number;
  isOver: boolean;
}

export interface TakeRequest {
  readonly queues: readonly string[];
  readonly max: number;
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

const connectWithinMs = 5_000;
const answerWithinMs = 5_000;
const closeWithinMs = 1_000;
/** A consumer that has just been made has its first messages a little later. */
const waitMinMs = 50;
/** Before each offer of the same doorbells. */
const publishPausesMs = [0, 50, 250];

export class Link {
  readonly #model: ChannelModel;
  readonly #publishing: ConfirmChannel;
  readonly #receiving: Channel;
  readonly #options: LinkOptions;
  /** Never resolves; rejects when the link is lost. */
  readonly #lost: Promise<never>;
  #lose: (error: Error) => void = () => {};
  #isLost = false;
  #ended: Promise<void> = Promise.resolve();
  readonly #declared = new Set<string>();
  readonly #returned = new Set<string>();
  #published = 0;
  /** In the order in which they came. */
  readonly #held = new Set<Held>();
  /** Came beside what was asked for: several queues share one request. The next one has them first. */
  #surplus: Held[] = [];
  readonly #timer: NodeJS.Timeout;

  static async open(options: LinkOptions): Promise<Link> {
    const model = await options.amqplib.connect(options.url, {
      timeout: connectWithinMs,
      noDelay: true,
      clientProperties: { connection_name: "doorbell" },
    });
    // An 'error' without a listener would end the process; 'close' follows it.
    model.on("error", () => {});
    try {
      const opened = Promise.all([model.createConfirmChannel(), model.createChannel()]);
      return new Link(model, await answered("opening channels", answerWithinMs, opened), options);
    } catch (error) {
      destroy(model);
      throw error;
    }
  }

  private constructor(
    model: ChannelModel,
    [publishing, receiving]: readonly [ConfirmChannel, Channel],
    options: LinkOptions,
  ) {
    this.#model = model;
    this.#publishing = publishing;
    this.#receiving = receiving;
    this.#options = options;
    this.#lost = new Promise<never>((_, reject) => {
      this.#lose = reject;
    });
    this.#lost.catch(() => {});
    publishing.on("return", ({ properties }) => void this.#returned.add(String(properties.messageId)));
    for (const channel of [publishing, receiving]) {
      channel.on("error", (error) => void this.end(error));
      channel.on("handler-error", (error) => void this.end(error));
      channel.on("close", () => void this.end(new Error("the channel was closed")));
    }
    // Before the channels' ends, which follow from it and say nothing.
    model.on("error", (error) => void this.end(error));
    model.on("close", (error) => void this.end(error ?? new Error("the connection was closed")));
    this.#timer = setInterval(() => this.#giveBackOverdue(), Math.max(50, options.redeliverMs / 10)).unref();
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /**
   * Ends it, and whatever is under way rejects with this error. What is held goes back. Resolves when the server has heard
   * of it, acknowledgements before it included, or does not answer. Safe to call twice.
   */
  end(error: Error): Promise<void> {
    if (!this.#isLost) {
      this.#isLost = true;
      clearInterval(this.#timer);
      for (const held of this.#held) held.isOver = true;
      this.#held.clear();
      this.#lose(error);
      this.#ended = this.#hangUp();
    }
    return this.#ended;
  }

  /** Resolves when the server has all of them, on disk. What it says that it did not take is offered again, twice. */
  async publish(queue: string, bodies: readonly Buffer[]): Promise<void> {
    let left = bodies;
    for (const pauseMs of publishPausesMs) {
      if (pauseMs > 0) await sleep(pauseMs);
      await this.#declareOnce(queue);
      left = await this.#publishOnce(queue, left);
      if (left.length === 0) return;
      this.#declared.delete(queue);
    }
    throw new Error(`the server did not take ${left.length} of ${bodies.length} doorbells for queue ${queue}`);
  }

  /** At most `max`, as soon as there are any. May be empty. */
  async take({ queues, max, waitMs, signal }: TakeRequest): Promise<readonly Held[]> {
    const taken = this.#takeSurplus(queues, max);
    if (taken.length > 0) return taken;
    let onChange: () => void = () => {};
    const changed = new Promise<void>((resolve) => {
      onChange = resolve;
    });
    // Queues share what is asked for, so that none is served before the others.
    const share = Math.max(1, Math.ceil(max / queues.length));
    const consumers = queues.map((queue) =>
      this.#consume(queue, share, (message) => {
        if (message !== null) this.#arrived(queue, message, taken, max);
        onChange();
      }),
    );
    const tags = await this.#answer("consuming", Promise.all(consumers));
    await this.#orLost(either(changed, Math.max(waitMs, waitMinMs), signal));
    // What is on its way until the server has confirmed this still arrives: a batch is as large as what was there.
    const cancelled = Promise.all(tags.map((tag) => this.#receiving.cancel(tag)));
    await this.#answer("ending a consumer", cancelled);
    if (signal.aborted) this.#giveBack(this.#surplus.splice(0));
    return taken;
  }

  /** What is over already is passed by. */
  ack(held: Held): void {
    if (this.#drop(held)) this.#receiving.ack(held.message);
  }

  #arrived(queue: string, message: ConsumeMessage, taken: Held[], max: number): void {
    const held: Held = { link: this, queue, message, receivedAtMs: performance.now(), isOver: false };
    this.#held.add(held);
    (taken.length < max ? taken : this.#surplus).push(held);
  }

  #takeSurplus(queues: readonly string[], max: number): Held[] {
    this.#surplus = this.#surplus.filter((held) => !held.isOver);
    const taken = this.#surplus.filter((held) => queues.includes(held.queue)).slice(0, max);
    this.#surplus = this.#surplus.filter((held) => !taken.includes(held));
    return taken;
  }

  #giveBackOverdue(): void {
    const overdue: Held[] = [];
    for (const held of this.#held) {
      if (performance.now() - held.receivedAtMs < this.#options.redeliverMs) break;
      overdue.push(held);
    }
    this.#giveBack(overdue);
  }

  #giveBack(list: readonly Held[]): void {
    for (const held of list) if (this.#drop(held)) this.#receiving.nack(held.message);
  }

  #drop(held: Held): boolean {
    if (held.isOver) return false;
    held.isOver = true;
    this.#held.delete(held);
    return true;
  }

  async #consume(
    queue: string,
    prefetch: number,
    onMessage: (message: ConsumeMessage | null) => void,
  ): Promise<string> {
    await this.#declare(this.#receiving, queue);
    // In one go, so that another receive's prefetch does not come between.
    const [, { consumerTag }] = await Promise.all([
      this.#receiving.prefetch(prefetch),
      this.#receiving.consume(queue, onMessage),
    ]);
    return consumerTag;
  }

  /**
   * Which were not taken: the queue is not there any more, and they came back by their ids; or it is so new that its
   * leader is not there yet.
   */
  async #publishOnce(queue: string, bodies: readonly Buffer[]): Promise<readonly Buffer[]> {
    const options = { persistent: true, mandatory: true, contentType: "application/json" };
    const refused: Buffer[] = [];
    const confirmed = bodies.map(
      (body) =>
        new Promise<void>((resolve) => {
          this.#published += 1;
          const messageId = String(this.#published);
          this.#publishing.sendToQueue(queue, body, { ...options, messageId }, (error: unknown) => {
            if (this.#returned.delete(messageId) || error) refused.push(body);
            resolve();
          });
        }),
    );
    await this.#answer("publishing", Promise.all(confirmed));
    return refused;
  }

  async #declareOnce(queue: string): Promise<void> {
    if (this.#declared.has(queue)) return;
    await this.#answer("declaring a queue", this.#declare(this.#publishing, queue));
    this.#declared.add(queue);
  }

  async #declare(channel: Channel, queue: string): Promise<void> {
    const { queueArguments } = this.#options;
    if (queueArguments !== null) await channel.assertQueue(queue, { durable: true, arguments: queueArguments });
  }

  /** A server that does not answer is gone, whatever its socket says. */
  async #answer<T>(what: string, promise: Promise<T>): Promise<T> {
    try {
      return await this.#orLost(answered(what, answerWithinMs, promise));
    } catch (error) {
      if (error instanceof Unanswered) void this.end(error);
      throw error;
    }
  }

  #orLost<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.#lost]);
  }

  async #hangUp(): Promise<void> {
    // A connection's end would overtake what its channels have not written yet.
    const closing = this.#receiving
      .close()
      .catch(() => {})
      .then(() => this.#model.close());
    await answered("closing", closeWithinMs, closing).catch(() => {});
    destroy(this.#model);
  }
}

/** Resolves with the promise, after so long, or when the signal is aborted. */
async function either(promise: Promise<void>, waitMs: number, signal: AbortSignal): Promise<void> {
  let end: () => void = () => {};
  const over = new Promise<void>((resolve) => {
    end = resolve;
  });
  const timer = setTimeout(end, waitMs);
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  try {
    await Promise.race([promise, over]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  }
}

/** The library has no word for it: a server that hangs would keep the socket, and the process, for ever. */
function destroy(model: ChannelModel): void {
  const { stream } = model.connection as { readonly stream?: { destroy(): void } };
  stream?.destroy();
}
