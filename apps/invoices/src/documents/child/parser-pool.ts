// A few parser children, started when needed and used again while they are fit. A child that failed, has grown or has read
// its share is not used again: the next document, which may be another account's, must not pay for what this one left.
import { availableParallelism } from "node:os";
import type { Limits } from "../limits.ts";
import { ParserChild } from "./parser-child.ts";
import type { Answer } from "./protocol.ts";

export interface ParserPoolOptions {
  /** Documents read at the same time; the others wait their turn, which does not count as their time. */
  readonly childrenMax: number;
  readonly documentsPerChildMax: number;
  /** How long an idle child is kept. */
  readonly idleMs: number;
}

const defaults: ParserPoolOptions = {
  // One more than there are cores: documents that spin until their limit then do not stop the others.
  childrenMax: availableParallelism() + 1,
  documentsPerChildMax: 50,
  idleMs: 10_000,
};

/** Of its limit on memory, a child may still hold so much between two documents: the next one needs the rest. */
const heldMaxShare = 0.5;

interface PooledChild {
  readonly child: ParserChild;
  readonly limitsKey: string;
  readonly heldMaxBytes: number;
  documentsRead: number;
  idleTimer: NodeJS.Timeout | undefined;
}

export class ParserPool {
  readonly #options: ParserPoolOptions;
  readonly #children = new Set<PooledChild>();
  readonly #idle: PooledChild[] = [];
  readonly #queue: (() => void)[] = [];
  #busyCount = 0;

  constructor(options: Partial<ParserPoolOptions> = {}) {
    this.#options = { ...defaults, ...options };
  }

  /** Reads one document in some child. Throws `ParserChildError`, or the signal's reason. */
  async read(document: Uint8Array, limits: Limits, signal?: AbortSignal): Promise<Answer> {
    await this.#takeTurn(signal);
    try {
      const pooled = await this.#childFor(limits);
      let answer: Answer | null = null;
      try {
        answer = await pooled.child.read(document, signal);
        return answer;
      } finally {
        this.#giveBack(pooled, answer);
      }
    } finally {
      this.#endTurn();
    }
  }

  /** Kills every child. Documents under way fail; a later `read` starts afresh. */
  close(): void {
    for (const pooled of this.#children) this.#retire(pooled);
  }

  async #takeTurn(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (this.#busyCount < this.#options.childrenMax) {
      this.#busyCount++;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const turn = () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      };
      const onAbort = () => {
        this.#queue.splice(this.#queue.indexOf(turn), 1);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#queue.push(turn);
    });
  }

  /** Passes the turn on to the longest waiting, so that the count stays. */
  #endTurn(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#busyCount--;
    else next();
  }

  async #childFor(limits: Limits): Promise<PooledChild> {
    const limitsKey = JSON.stringify(limits);
    const index = this.#idle.findIndex((pooled) => pooled.limitsKey === limitsKey && pooled.child.isAlive);
    const [idle] = index < 0 ? [] : this.#idle.splice(index, 1);
    if (idle !== undefined) {
      clearTimeout(idle.idleTimer);
      idle.child.ref();
      return idle;
    }
    const heldMaxBytes = heldMaxShare * limits.rssMegabytes * 1024 * 1024;
    const child = await ParserChild.start(limits);
    const pooled = { child, limitsKey, heldMaxBytes, documentsRead: 0, idleTimer: undefined };
    this.#children.add(pooled);
    return pooled;
  }

  #giveBack(pooled: PooledChild, answer: Answer | null): void {
    pooled.documentsRead++;
    const isFit = answer?.type === "extraction" && answer.heldBytes <= pooled.heldMaxBytes;
    if (!isFit || !pooled.child.isAlive || pooled.documentsRead >= this.#options.documentsPerChildMax) {
      this.#retire(pooled);
      return;
    }
    pooled.child.unref();
    pooled.idleTimer = setTimeout(() => this.#retire(pooled), this.#options.idleMs).unref();
    this.#idle.push(pooled);
  }

  #retire(pooled: PooledChild): void {
    clearTimeout(pooled.idleTimer);
    const index = this.#idle.indexOf(pooled);
    if (index >= 0) this.#idle.splice(index, 1);
    this.#children.delete(pooled);
    pooled.child.kill();
  }
}
