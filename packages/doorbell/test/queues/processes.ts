// Processes of the binary, as `doorbell start` brings them up, in this one: a role each, with HTTP, their maintenance and
// their log.
import { startProcess } from "../../src/boot/process.ts";
import { resolveSettings } from "../../src/config/settings.ts";
import { createLog, type Doorbell, defineApp, type Handler } from "../../src/index.ts";
import type { TestDatabase } from "../../src/testing/database.ts";

export interface StartedProcess {
  readonly doorbell: Doorbell;
  /** What it has logged. */
  readonly lines: readonly Record<string, unknown>[];
  /** What `/readyz` answers. */
  ready(): Promise<{ readonly status: number; readonly reasons: readonly string[] }>;
}

export class Processes implements AsyncDisposable {
  readonly #options: {
    readonly database: TestDatabase;
    readonly queueUrl: string;
    readonly handlers: readonly Handler[];
  };
  readonly #stops: (() => Promise<void>)[] = [];

  constructor(options: {
    readonly database: TestDatabase;
    readonly queueUrl: string;
    readonly handlers: readonly Handler[];
  }) {
    this.#options = options;
  }

  async start(role: "web" | "worker"): Promise<StartedProcess> {
    const { database, queueUrl, handlers } = this.#options;
    const lines: Record<string, unknown>[] = [];
    let doorbell: Doorbell | undefined;
    const app = defineApp({
      jobs: handlers.map(({ definition }) => definition),
      resources: (runtime) => {
        doorbell = runtime.doorbell;
      },
      handlers: () => handlers,
    });
    const settings = {
      ...resolveSettings({ DOORBELL_ENV: "development", DOORBELL_ROLE: role, DOORBELL_QUEUE: queueUrl }),
      port: 0,
      closeAfterMs: 0,
    };
    const running = await startProcess({
      app,
      settings,
      databaseUrl: database.appUrl,
      log: createLog({ destination: { write: (line) => void lines.push(JSON.parse(line)) } }),
    });
    this.#stops.push(running.stop);
    if (doorbell === undefined) throw new Error("the process has not opened its resources");
    return {
      doorbell,
      lines,
      ready: async () => {
        const answer = await fetch(`http://${settings.host}:${running.port}/readyz`);
        const { reasons } = (await answer.json()) as { readonly reasons: readonly string[] };
        return { status: answer.status, reasons };
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#stops.map((stop) => stop()));
  }
}
