// rabbitmq: one durable quorum queue per lane, confirmed by the server when doorbells are sent and acknowledged when their
// claim is decided. Consumers live for one receive, so that no process keeps doorbells that another could have.
//
// Entry point `doorbell-jobs/rabbitmq`.
import { setTimeout as sleep } from "node:timers/promises";
import { DoorbellError } from "../core/errors.ts";
import { parseBody } from "./body.ts";
import type { Delivery, QueueDriver } from "./driver.ts";
import { QueueUrl } from "./parameters.ts";
import { type Amqplib, type Held, Link, type LinkOptions, type TakeRequest } from "./rabbitmq-link.ts";

/** A reply code of AMQP. */
const internalError = 541;
/** A new queue has its leader by then. */
const settlePauseMs = 100;

export interface RabbitmqOptions {
  /** `amqp:` or `amqps:`, with what is particular to us as parameters of its query. */
  readonly url: string;
}

export type ImportAmqplib = () => Promise<unknown>;

/**
 * Connects at the first call, and again at the next one after a connection was lost. Throws option_invalid, peer_missing.
 */
export async function rabbitmqDriver(
  options: RabbitmqOptions,
  importPeer: ImportAmqplib = () => import("amqplib"),
): Promise<QueueDriver> {
  const { prefix, ...settings } = readUrl(options.url);
  const amqplib = await loadAmqplib(importPeer);
  let current: Link | null = null;
  let opening: Promise<Link> | null = null;
  let isClosed = false;

  const requireOpen = (): void => {
    if (isClosed) throw new DoorbellError("closed", "queue rabbitmq is closed");
  };
  const open = async (): Promise<Link> => {
    const link = await Link.open({ ...settings, amqplib });
    if (isClosed) await link.end(new DoorbellError("closed", "queue rabbitmq is closed"));
    requireOpen();
    current = link;
    return link;
  };
  /** The one that is there, or a new one. Calls that come while it is being opened share it. */
  const connected = async (): Promise<Link> => {
    requireOpen();
    if (current !== null && !current.isLost) return current;
    opening ??= open().finally(() => {
      opening = null;
    });
    return await opening;
  };

  /** Once more where the server has tripped over a queue that another process was just declaring. Nothing was taken then. */
  const take = async (request: TakeRequest): Promise<readonly Held[]> => {
    const link = await connected();
    try {
      return await link.take(request);
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== internalError) throw error;
    }
    await sleep(settlePauseMs);
    return await (await connected()).take(request);
  };

  return {
    name: "rabbitmq",
    capabilities: { line: false, sent: true, inProcess: false, redelivers: true },
    async send(lane, doorbells) {
      requireOpen();
      if (doorbells.length === 0) return;
      const bodies = doorbells.map((doorbell) => Buffer.from(JSON.stringify(doorbell)));
      try {
        await (await connected()).publish(`${prefix}.${lane}`, bodies);
      } catch (error) {
        throw DoorbellError.isInstance(error) ? error : unavailable(error);
      }
    },
    async receive({ lanes, ...request }) {
      requireOpen();
      if (request.signal.aborted) return [];
      const taken = await take({ ...request, queues: lanes.map((lane) => `${prefix}.${lane}`) });
      return taken.map((held): Delivery => ({ body: parseBody(held.message.content.toString()), handle: held }));
    },
    async ack(deliveries) {
      for (const { handle } of deliveries) {
        const held = handle as Held;
        held.link.ack(held);
      }
    },
    async close() {
      isClosed = true;
      await opening?.catch(() => {});
      await current?.end(new DoorbellError("closed", "queue rabbitmq is closed"));
    },
  };
}

function readUrl(text: string): Omit<LinkOptions, "amqplib"> & { readonly prefix: string } {
  const given = new QueueUrl(text, "rabbitmq");
  const prefix = given.text("prefix") ?? "doorbell";
  if (!/^(?!amq\.)[\w.:-]{1,100}$/.test(prefix))
    throw given.refused(
      "prefix is not 1 to 100 letters, digits, _ . : or -, and not a name of the server's own (amq.)",
    );
  const redeliverMs = given.duration("redeliver", "30s", "100ms", "1h");
  const deliveryLimit = given.integer("deliveryLimit", 20, 1, 1_000_000);
  const create = given.flag("create", true);
  const heartbeatSeconds = given.integer("heartbeat", 10, 1, 3_600);
  given.requireNothingLeft();
  given.url.searchParams.set("heartbeat", String(heartbeatSeconds));
  return {
    prefix,
    url: given.url.href,
    redeliverMs,
    queueArguments: create ? { "x-queue-type": "quorum", "x-delivery-limit": deliveryLimit } : null,
  };
}

/** Throws peer_missing, with the way out. */
async function loadAmqplib(importPeer: ImportAmqplib): Promise<Amqplib> {
  let loaded: unknown;
  try {
    loaded = await importPeer();
  } catch (cause) {
    throw new DoorbellError("peer_missing", "an amqp: queue needs amqplib: npm install amqplib", { cause });
  }
  // It is CommonJS, whose exports are the default.
  const { default: exports, connect } = loaded as Partial<Amqplib> & { readonly default?: Partial<Amqplib> };
  const found = connect ?? exports?.connect;
  if (found === undefined)
    throw new DoorbellError("peer_missing", "this amqplib has no connect; install 0.10 or newer");
  return { connect: found };
}

function unavailable(error: unknown): DoorbellError {
  const { message } = error as { readonly message?: string };
  return new DoorbellError("queue_unavailable", `rabbitmq: ${message || "the server could not be reached"}`);
}
