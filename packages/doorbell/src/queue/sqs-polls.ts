// Receiving from several queues of SQS, which can only be asked one by one: a long poll per lane, shared by the receives
// that wait for it. To cut a poll off may hide a message for the redelivery time, so a receive that has enough leaves the
// others' polls alone, and what they bring is the next receive's.
import { batchMax, type SqsMessage, type SqsQueues } from "./sqs-client.ts";

interface Poll {
  /** Null, or why it failed. Never rejects. */
  readonly ended: Promise<unknown>;
  readonly abort: AbortController;
  waiters: number;
}

const pollMaxSeconds = 20;
/** What nobody has asked for within it goes back. */
const keepMs = 1_000;
/** A poll may have been begun for a receive that waits longer. */
const overtimeMs = 1_500;
const closeWithinMs = 2_000;
/** A call that does not wait is answered soon. */
const moreWithinMs = 5_000;
/** Calls beside the first, for those who ask for more than one can bring. */
const moreAtOnceMax = 10;

export class SqsPolls {
  readonly #queues: SqsQueues;
  readonly #polls = new Map<string, Poll>();
  #arrived: SqsMessage[] = [];
  #isClosed = false;

  constructor(queues: SqsQueues) {
    this.#queues = queues;
  }

  /** At most `max`, as soon as there are any. Rejects when a lane's queue cannot be reached. */
  async take(
    lanes: readonly string[],
    max: number,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<readonly SqsMessage[]> {
    const until = performance.now() + waitMs;
    for (;;) {
      const taken = this.#takeArrived(lanes, max);
      if (taken.length > 0) return [...taken, ...(await this.#more(taken, max, signal))];
      if (signal.aborted || this.#isClosed) return [];
      const leftMs = Math.max(0, until - performance.now());
      const share = Math.max(1, Math.ceil(max / lanes.length));
      const polls = lanes.map((lane) => this.#poll(lane, share, Math.min(pollMaxSeconds, Math.ceil(leftMs / 1_000))));
      const error = await this.#firstOf(polls, leftMs, signal);
      if (error !== null) throw error;
      if (this.#arrived.length === 0 && performance.now() >= until) return [];
    }
  }

  /** Ends what is under way, and gives back what nobody has asked for. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { abort } of this.#polls.values()) abort.abort();
    const left = this.#arrived.splice(0);
    await Promise.race([this.#giveBack(left), new Promise((resolve) => setTimeout(resolve, closeWithinMs).unref())]);
  }

  #takeArrived(lanes: readonly string[], max: number): SqsMessage[] {
    const taken = this.#arrived.filter(({ lane }) => lanes.includes(lane)).slice(0, max);
    if (taken.length > 0) this.#arrived = this.#arrived.filter((message) => !taken.includes(message));
    return taken;
  }

  /** A lane that gave as much as one call can bring probably has more. */
  async #more(taken: readonly SqsMessage[], max: number, signal: AbortSignal): Promise<readonly SqsMessage[]> {
    const lanes = [...new Set(taken.map(({ lane }) => lane))].filter(
      (lane) => taken.filter((message) => message.lane === lane).length >= batchMax,
    );
    const left = max - taken.length;
    if (lanes.length === 0 || left <= 0 || signal.aborted) return [];
    const calls = Math.min(moreAtOnceMax, Math.ceil(left / batchMax));
    const asked = Array.from({ length: calls }, (_, call) =>
      this.#queues.receive(
        lanes[call % lanes.length] as string,
        Math.min(batchMax, left - call * batchMax),
        0,
        AbortSignal.timeout(moreWithinMs),
      ),
    );
    // What fails here fails again in the next receive, which then says so.
    return (await Promise.allSettled(asked)).flatMap((call) => (call.status === "fulfilled" ? call.value : []));
  }

  /** The lane's poll that is under way, or a new one. */
  #poll(lane: string, max: number, waitSeconds: number): Poll {
    const current = this.#polls.get(lane);
    if (current !== undefined) return current;
    const abort = new AbortController();
    const ended = this.#queues
      .receive(lane, max, waitSeconds, abort.signal)
      .then(
        (messages) => {
          this.#arrived.push(...messages);
          if (messages.length > 0) setTimeout(() => this.#returnUnasked(messages), keepMs).unref();
          return null;
        },
        (error: unknown) => (abort.signal.aborted ? null : error),
      )
      .finally(() => this.#polls.delete(lane));
    const poll = { ended, abort, waiters: 0 };
    this.#polls.set(lane, poll);
    return poll;
  }

  /** Resolves when one of them has ended; without a wait, all; in any case not long after it, and when it is aborted. */
  async #firstOf(polls: readonly Poll[], waitMs: number, signal: AbortSignal): Promise<unknown> {
    let end: () => void = () => {};
    const over = new Promise<null>((resolve) => {
      end = () => resolve(null);
    });
    const timer = setTimeout(end, waitMs + overtimeMs);
    signal.addEventListener("abort", end, { once: true });
    for (const poll of polls) poll.waiters += 1;
    try {
      const ends = polls.map((poll) => poll.ended);
      const any = Promise.race(ends);
      const everyone = Promise.all(ends).then((errors) => errors.find((error) => error !== null) ?? null);
      return await Promise.race([waitMs === 0 ? everyone : any, over]);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      for (const poll of polls) {
        poll.waiters -= 1;
        if (signal.aborted && poll.waiters === 0) poll.abort.abort();
      }
    }
  }

  #returnUnasked(messages: readonly SqsMessage[]): void {
    const unasked = this.#arrived.filter((message) => messages.includes(message));
    if (unasked.length === 0) return;
    this.#arrived = this.#arrived.filter((message) => !unasked.includes(message));
    void this.#giveBack(unasked);
  }

  /** They come back after the redelivery time in any case. */
  #giveBack(messages: readonly SqsMessage[]): Promise<void> {
    return this.#queues.giveBack(messages).catch(() => {});
  }
}
