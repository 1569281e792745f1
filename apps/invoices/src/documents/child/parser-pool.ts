/**
 * A few parser children, started when needed and used again while they behave. A child that has refused a document,
 * failed, or read its share is not used again: what one document may have done to it must not reach the next, which may
 * be another tenant's.
 */
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

const DEFAULTS: ParserPoolOptions = {
  // One more than there are cores: documents that spin until their limit then do not stop the others.
  childrenMax: availableParallelism() + 1,
  documentsPerChildMax: 50,
  idleMs: 10_000,
};

interface PooledChild {
  readonly child: ParserChild;
  readonly limitsKey: string;
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
    this.#options = { ...DEFAULTS, ...options };
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
    const pooled = { child: await ParserChild.start(limits), limitsKey, documentsRead: 0, idleTimer: undefined };
    this.#children.add(pooled);
    return pooled;
  }

  #giveBack(pooled: PooledChild, answer: Answer | null): void {
    pooled.documentsRead++;
    const behaved = answer?.type === "extraction" && answer.extraction.outcome !== "rejected";
    if (!behaved || !pooled.child.isAlive || pooled.documentsRead >= this.#options.documentsPerChildMax) {
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
