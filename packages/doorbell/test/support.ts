// What the whole-system tests share: a quiet log, a worker that is drained at the end, and waiting for what must come.

import type { MaintainedWorkerOptions } from "../src/doorbell.ts";
import {
  createDoorbell,
  createLog,
  type Doorbell,
  type DoorbellOptions,
  type Handler,
  type Job,
} from "../src/index.ts";
import { createTestDatabase, type TestDatabase } from "../src/testing/database.ts";
import type { Worker } from "../src/worker/worker.ts";

export type AnyJob = Job<unknown>;

/** A database, clients and workers of one test; all are closed with it, in the order in which that works. */
export class Stage implements AsyncDisposable {
  readonly db: TestDatabase;
  readonly lines: Record<string, unknown>[] = [];
  readonly #clients: Doorbell[] = [];
  readonly #workers: Worker[] = [];

  constructor(db: TestDatabase) {
    this.db = db;
  }

  static async open(): Promise<Stage> {
    return new Stage(await createTestDatabase());
  }

  async client(options: Partial<DoorbellOptions> = {}): Promise<Doorbell> {
    const log = createLog({ level: "debug", destination: { write: (line) => void this.lines.push(JSON.parse(line)) } });
    const doorbell = await createDoorbell({ databaseUrl: this.db.appUrl, log, ...options });
    this.#clients.push(doorbell);
    return doorbell;
  }

  async worker(
    doorbell: Doorbell,
    handlers: readonly Handler[],
    options: MaintainedWorkerOptions = {},
  ): Promise<Worker> {
    const worker = doorbell.worker(handlers, { lease: "2s", grace: "1s", sweepEvery: "1s", ...options });
    this.#workers.push(worker);
    await worker.start();
    return worker;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.drain()));
    await Promise.all(this.#clients.map((client) => client.close()));
    await this.db.drop();
  }
}

/** Resolves with the first value that is not false, null or undefined; fails after so long, with what it waited for. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | false | null | undefined> | T | false | null | undefined,
  withinMs = 10_000,
): Promise<T> {
  const until = Date.now() + withinMs;
  for (;;) {
    const value = await look();
    if (value !== false && value !== null && value !== undefined) return value;
    if (Date.now() > until) throw new Error(`waited ${withinMs} ms in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A promise with its ends outside. */
export function signal<T = void>(): { readonly promise: Promise<T>; resolve(value: T): void } {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
