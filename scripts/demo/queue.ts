// The queue that --queue names: under names of this run alone, asked once before anything is started, and removed at the end.
import { randomBytes } from "node:crypto";
import { DoorbellError, type QueueDriver } from "doorbell-jobs";
import { openQueueDriver } from "../../packages/doorbell/src/queue/open.ts";
import { privateQueue } from "../../packages/doorbell/test/queues/private-queue.ts";
import { DemoError, UsageError } from "./demo-error.ts";
import type { TakeDown } from "./take-down.ts";

export interface DemoQueue {
  readonly url: string;
  /** A person's word for it, without what is secret. */
  readonly description: string;
  /** The line in Postgres, and no broker. */
  readonly isLine: boolean;
}

/** What no process but its own can see carries nothing from the web process to the workers. */
const inProcess = /^memory:/;
const inPostgres = /^postgres:/;
const askWithinMs = 15_000;

/** Throws UsageError for a URL that no driver takes, DemoError for a missing library and a broker that does not answer. */
export async function openDemoQueue(given: string, takeDown: TakeDown): Promise<DemoQueue> {
  if (inProcess.test(given)) throw new UsageError("--queue memory: dies with its process, and the demo has three");
  const { url, remove } = privateQueue(given, `demo-${randomBytes(4).toString("hex")}`);
  const driver = await open(url);
  try {
    if (inPostgres.test(given)) return { url, description: "the line in Postgres", isLine: true };
    await ask(driver);
  } finally {
    await driver.close();
  }
  await takeDown.push(async () => {
    await remove().catch((error: unknown) => {
      throw new Error(`the queue of this run may still be in ${driver.name}: ${reasonOf(error)}`);
    });
  });
  return { url, description: `${driver.name} on ${hostOf(given)}`, isLine: false };
}

async function open(url: string): Promise<QueueDriver> {
  try {
    // Only the line in Postgres asks a database, and it is not asked here.
    return await openQueueDriver(url, { query: () => Promise.reject(new Error("there is no database yet")) });
  } catch (error) {
    if (!(error instanceof DoorbellError)) throw error;
    const say = `--queue: ${error.message}`;
    throw error.code === "option_invalid" ? new UsageError(say) : new DemoError(say);
  }
}

/** Makes what the driver makes, and sees that the broker answers: a process would go on without, and try again for ever. */
async function ask(driver: QueueDriver): Promise<void> {
  const signal = AbortSignal.timeout(askWithinMs);
  try {
    await driver.ack(await driver.receive({ lanes: ["default"], max: 1, waitMs: 10, signal }));
  } catch (error) {
    throw new DemoError(
      `the queue of --queue cannot be used (${reasonOf(error)}): start its server, and check host, port and login`,
    );
  }
}

/** Of an emulator where the URL has one. */
function hostOf(url: string): string {
  const { host, searchParams } = new URL(url);
  const endpoint = searchParams.get("endpoint");
  return endpoint === null ? host : new URL(endpoint).host;
}

function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  return error instanceof Error ? error.message || error.name : String(error);
}
