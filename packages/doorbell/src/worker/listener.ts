// Hears wake-ups. A connection of its own, and it is tested, not trusted: it calls itself, and if the call does not come
// back (a dead socket, a pooler in transaction mode) it counts as deaf and is opened again, while workers poll more often.
import type pg from "pg";
import { newId } from "../core/ids.ts";
import type { Database } from "../store/database.ts";
import { wakeChannel } from "../store/maintenance.ts";

export interface ListenerOptions {
  /** A direct connection: LISTEN does not work through a pooler in transaction mode. */
  readonly database: Database;
  readonly onWake: (lane: string) => void;
  readonly onChange: (hears: boolean) => void;
}

const testEveryMs = 10_000;
const answerWithinMs = 5_000;
const reopenAfterMs = 2_000;

export class Listener {
  readonly #options: ListenerOptions;
  #client: pg.Client | null = null;
  #timer: NodeJS.Timeout | null = null;
  #expected: string | null = null;
  #hears = false;
  #closed = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  get hears(): boolean {
    return this.#hears;
  }

  /** Resolves when it hears, or after the first try that failed: it goes on trying. */
  async start(): Promise<void> {
    try {
      const client = await this.#options.database.connect();
      if (this.#closed) return await client.end();
      this.#client = client;
      client.on("notification", ({ payload = "" }) => this.#heard(payload));
      client.on("end", () => this.#lost(client));
      client.on("error", () => this.#lost(client));
      await client.query(`listen ${wakeChannel}`);
      await this.#test(client);
    } catch {
      this.#lost(this.#client);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#client?.end().catch(() => {});
  }

  /** Calls itself, and waits for the call. */
  async #test(client: pg.Client): Promise<void> {
    const call = `test:${newId()}`;
    this.#expected = call;
    await client.query("select pg_notify($1, $2)", [wakeChannel, call]);
    if (this.#closed || this.#client !== client) return;
    this.#timer = setTimeout(
      () => {
        if (this.#expected !== null) this.#lost(client);
        else this.#timer = setTimeout(() => void this.#test(client).catch(() => this.#lost(client)), testEveryMs);
      },
      this.#expected === null ? 0 : answerWithinMs,
    );
  }

  #heard(payload: string): void {
    if (payload === this.#expected) {
      this.#expected = null;
      this.#change(true);
    } else if (!payload.startsWith("test:")) this.#options.onWake(payload);
  }

  #lost(client: pg.Client | null): void {
    if (this.#closed || client !== this.#client) return;
    this.#client = null;
    void client?.end().catch(() => {});
    this.#change(false);
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.start(), reopenAfterMs);
  }

  #change(hears: boolean): void {
    if (this.#hears === hears) return;
    this.#hears = hears;
    this.#options.onChange(hears);
  }
}
