// A desk with the command line on it, beside a process that works: for tests that use commands one after another, as a
// person does. One a file; each test has tenants of its own.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newId } from "../../src/core/ids.ts";
import type { TestDatabase } from "../../src/testing/database.ts";
import { eventually } from "../support.ts";
import { appFile, type Ended, type Environment, productionLikeDatabase, Running, run } from "./support.ts";

/** The command line for one tenant. */
export interface TenantDesk {
  readonly tenant: string;
  /** Runs a command, however it ends. */
  attempt(...args: readonly string[]): Promise<Ended>;
  /** Runs a command, which must succeed; its standard output. */
  run(...args: readonly string[]): Promise<string>;
  /** The same with --json, read. */
  json<T>(...args: readonly string[]): Promise<T>;
  /** Enqueues a job; its id. */
  enqueue(kind: string, ...args: readonly string[]): Promise<string>;
}

export class Desk implements AsyncDisposable {
  readonly database: TestDatabase;
  readonly env: Environment;
  readonly #folder: string;
  readonly #running: Running[] = [];

  constructor(database: TestDatabase, env: Environment = {}) {
    this.database = database;
    this.#folder = mkdtempSync(join(tmpdir(), "doorbell-desk-"));
    this.env = {
      DATABASE_URL: database.appUrl,
      DOORBELL_OBJECTS: `file:${this.#folder}/objects`,
      DOORBELL_LEASE: "1s",
      DOORBELL_SWEEP_EVERY: "200ms",
      DOORBELL_WEBHOOK_ALLOW_PRIVATE: "1",
      ...env,
    };
  }

  static async open(env?: Environment): Promise<Desk> {
    return new Desk(await productionLikeDatabase(), env);
  }

  /** Starts a process with the application of the tests. */
  async work(env: Environment = {}): Promise<Running> {
    const running = await Running.start(["--app", appFile], { ...this.env, ...env }, this.#folder);
    this.#running.push(running);
    return running;
  }

  /** For all tenants, or none. */
  attempt(...args: readonly string[]): Promise<Ended> {
    return run(args, this.env, this.#folder);
  }

  tenant(name: string): TenantDesk {
    const tenant = `${name} ${newId()}`;
    const attempt: TenantDesk["attempt"] = (...args) => this.attempt(...args, "--tenant", tenant);
    const succeed: TenantDesk["run"] = async (...args) => {
      const { code, stdout, stderr } = await attempt(...args);
      if (code !== 0) throw new Error(`${args.join(" ")}: exit code ${code}: ${stderr}`);
      return stdout;
    };
    return {
      tenant,
      attempt,
      run: succeed,
      json: async (...args) => JSON.parse(await succeed(...args, "--json")),
      enqueue: async (kind, ...args) => (await succeed("enqueue", kind, ...args)).trim(),
    };
  }

  /** Waits until the job is in this state, after so many attempts. */
  async until(id: string, state: string, attempts = 1): Promise<void> {
    await eventually(`job ${id} to be ${state} in attempt ${attempts}`, async () => {
      const [job] = await this.database.query<{ state: string; attempts: number }>(
        "select state, attempts from doorbell.all_jobs where id = $1",
        [id],
      );
      return job?.state === state && job.attempts === attempts;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#running.map((running) => running[Symbol.asyncDispose]()));
    await this.database.drop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
