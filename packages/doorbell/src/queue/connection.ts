// A connection that is made at the first use and made anew at the next use after it was lost. Nothing waits for a server to
// come back: a call that finds it away fails, and whoever called decides when to try again.

const endWithinMs = 1_000;

export interface Closable {
  /** At once; what is under way rejects. Never throws. */
  end(): void;
}

/** Connects, within a bounded time. `onLost` may be called more than once, and also after `end`. */
export type Connect<C extends Closable> = (onLost: () => void) => Promise<C>;

export class Connection<C extends Closable> {
  readonly #connect: Connect<C>;
  #current: Promise<C> | null = null;
  /** What `#current` has resolved to last. */
  #connected: C | null = null;
  #closed = false;

  constructor(connect: Connect<C>) {
    this.#connect = connect;
  }

  /** The one that is there, or a new one. Calls that come while it is being made share it. */
  get(): Promise<C> {
    if (this.#closed) return Promise.reject(new Error("the connection is closed"));
    if (this.#current !== null) return this.#current;
    const made: Promise<C> = this.#connect(() => this.#forget(made)).then(
      (connection) => {
        if (this.#closed) connection.end();
        if (this.#current === made) this.#connected = connection;
        return connection;
      },
      (error: unknown) => {
        this.#forget(made);
        throw error;
      },
    );
    this.#current = made;
    return made;
  }

  /** Ends this one. The next `get` makes another, unless somebody's has already. */
  drop(connection: C): void {
    if (this.#connected === connection) this.#current = null;
    connection.end();
  }

  /** Later calls reject. */
  close(): void {
    this.#closed = true;
    this.#current?.then(
      (connection) => connection.end(),
      () => {},
    );
  }

  #forget(made: Promise<C>): void {
    if (this.#current === made) this.#current = null;
  }
}

/** Rejects with Unanswered when the promise has not settled after so long. */
export async function answered<T>(what: string, limitMs: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Unanswered(`${what} had no answer within ${limitMs} ms`)), limitMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The result, or `ended` when the signal was aborted a while ago and there is none: whoever stops does not wait for a server
 * that gives no answer.
 */
export async function endedSoon<T>(signal: AbortSignal, result: Promise<T>, ended: T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let onAbort: () => void = () => {};
  const over = new Promise<T>((resolve) => {
    onAbort = () => {
      timer = setTimeout(resolve, endWithinMs, ended);
    };
  });
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([result, over]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

/** The server may have gone silently: a connection that gave no answer is not used again. */
export class Unanswered extends Error {}
