// nats: JetStream. One work queue stream, where a doorbell lies until it is acknowledged, with a subject and a durable
// consumer per lane. What was given out and not acknowledged comes again after the redelivery time, ten times at most.
//
// Entry point `doorbell-jobs/nats`.
import type { NatsConnection } from "@nats-io/transport-node";
import { type Duration, toMs } from "../core/duration.ts";
import { DoorbellError } from "../core/errors.ts";
import { parseBody } from "./body.ts";
import { Connection, endedSoon } from "./connection.ts";
import type { Delivery, QueueDriver } from "./driver.ts";
import { isUnanswered, type NatsLibraries, NatsSession, type Pulled, type StreamSettings } from "./nats-session.ts";
import { QueueUrl } from "./parameters.ts";

export interface NatsNames {
  /** The stream. Default "doorbell". */
  readonly stream?: string;
  /** Comes before the lane in its subject, with a dot between. Default "doorbell". */
  readonly subject?: string;
  /** What a stream that is not there is made with. Default "file". */
  readonly storage?: "file" | "memory";
  /** The same. From 1 (default) to 5. */
  readonly replicas?: number;
  /** What was given out and not acknowledged for so long comes again. Default 30 s; from 100 ms to a day. */
  readonly redeliver?: Duration;
}

/**
 * By URL, with the names as parameters of its query. Or by a connection, which the driver shares and does not close; how it
 * behaves while the server is away is then the connection's matter.
 */
export type NatsOptions = { readonly url: string } | (NatsNames & { readonly connection: NatsConnection });

/** Loads the two libraries. Replaced in tests. */
export type ImportNats = () => Promise<readonly [transport: unknown, jetstream: unknown]>;

const defaults = { stream: "doorbell", subject: "doorbell", storage: "file", replicas: 1, redeliver: "30s" } as const;
const redeliverMin = "100ms";
const redeliverMax = "1d";
const replicasMax = 5;

/** A pull that waits is renewed this often, so that a consumer that has gone is noticed. */
const pullMs = 1_000;
const sendAtOnce = 500;
const connectOptions = {
  name: "doorbell",
  // A call that finds the server away fails, and the next one connects anew.
  reconnect: false,
  timeout: 5_000,
  // A connection that has died silently is given up after three of these.
  pingInterval: 3_000,
  maxPingOut: 2,
} as const;

/** Connects at the first call. Throws option_invalid, peer_missing. */
export async function natsDriver(options: NatsOptions, importPeer?: ImportNats): Promise<QueueDriver> {
  if ("url" in options) {
    const { settings, login } = settingsOfUrl(options.url);
    const libraries = await loadNats(importPeer);
    const connect = (): Promise<NatsConnection> => libraries.connect({ ...connectOptions, ...login });
    return driverOf((onLost) => NatsSession.open(libraries, connect, settings, { owned: true, onLost }), settings);
  }
  const { connection } = options;
  const settings = settingsOf(options);
  const libraries = await loadNats(importPeer);
  return driverOf(
    (onLost) => NatsSession.open(libraries, async () => connection, settings, { owned: false, onLost }),
    settings,
  );
}

function driverOf(
  open: (onLost: () => void) => Promise<NatsSession>,
  { redeliverMs }: { readonly redeliverMs: number },
): QueueDriver {
  const session = new Connection<NatsSession>(open);
  /** Lanes in which a pull waits. It outlives the receive that began it: an end of its own would lose what is on its way. */
  const waiting = new Set<string>();
  const wakers = new Set<() => void>();
  /** Came for a pull that waited, or beside what was asked for. The next receive has them first. */
  let held: { readonly delivery: Delivery; readonly lane: string; readonly until: number }[] = [];
  let trouble: unknown = null;
  let closed = false;

  const requireOpen = (): void => {
    if (closed) throw new DoorbellError("closed", "queue nats is closed");
  };
  const wake = (): void => {
    for (const waker of wakers) waker();
  };
  /** Its errors become operating errors. A connection that gave no answer is not used again; one that ended is not anyway. */
  const on = async <T>(run: (session: NatsSession) => Promise<T>): Promise<T> => {
    let nats: NatsSession | null = null;
    try {
      nats = await session.get();
      return await run(nats);
    } catch (error) {
      if (nats !== null && isUnanswered(error)) session.drop(nats);
      requireOpen();
      throw unavailable(error);
    }
  };

  const hold = (lane: string, { text, reply }: Pulled): void => {
    const delivery = { body: parseBody(text), handle: reply };
    held.push({ lane, delivery, until: performance.now() + redeliverMs / 2 });
  };
  const takeHeld = (lanes: readonly string[], max: number): Delivery[] => {
    // Past its time it comes again, here or elsewhere.
    held = held.filter(({ until }) => performance.now() < until);
    const taken = held.filter(({ lane }) => lanes.includes(lane)).slice(0, max);
    held = held.filter((one) => !taken.includes(one));
    return taken.map(({ delivery }) => delivery);
  };

  /** What is there, without waiting. Lanes share what was asked for; what one leaves, the others have. */
  const takeThere = async (lanes: readonly string[], max: number): Promise<Delivery[]> => {
    const share = Math.max(1, Math.floor(max / lanes.length));
    const full: string[] = [];
    const pull = async (lane: string, count: number): Promise<void> => {
      let came = 0;
      await on((nats) =>
        nats.pull(lane, count, 0, (message) => {
          came += 1;
          hold(lane, message);
        }),
      );
      if (came === count) full.push(lane);
    };
    await Promise.all(lanes.map((lane) => pull(lane, share)));
    const taken = takeHeld(lanes, max);
    for (const lane of lanes.length > 1 ? [...full] : []) {
      if (taken.length === max) break;
      await pull(lane, max - taken.length);
      taken.push(...takeHeld(lanes, max - taken.length));
    }
    return taken;
  };

  /** One message for a lane: whatever comes first ends the wait, and the rest is there for the next receive. */
  const wait = (lane: string): void => {
    if (waiting.has(lane) || closed) return;
    waiting.add(lane);
    on((nats) => nats.pull(lane, 1, pullMs, (message) => hold(lane, message)))
      .catch((error: unknown) => {
        trouble = error;
      })
      .finally(() => {
        waiting.delete(lane);
        wake();
      });
  };

  /** Until something happens to a pull, the time is up, or the signal is aborted. */
  const change = (ms: number, signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        wakers.delete(end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal.addEventListener("abort", end, { once: true });
      wakers.add(end);
      if (signal.aborted) end();
    });

  const receiveAny = async (
    lanes: readonly string[],
    max: number,
    until: number,
    signal: AbortSignal,
  ): Promise<readonly Delivery[]> => {
    const early = takeHeld(lanes, max);
    if (early.length > 0) return early;
    try {
      const there = await takeThere(lanes, max);
      if (there.length > 0) return there;
      trouble = null;
      for (;;) {
        const leftMs = until - performance.now();
        if (leftMs <= 0 || signal.aborted || closed) return [];
        for (const lane of lanes) wait(lane);
        await change(leftMs, signal);
        const taken = takeHeld(lanes, max);
        if (taken.length > 0) return taken;
        if (trouble !== null) throw trouble;
      }
    } catch (error) {
      if (closed || signal.aborted) return [];
      throw error;
    }
  };

  return {
    name: "nats",
    capabilities: { line: false, sent: true, inProcess: false, redelivers: true },
    async send(lane, doorbells) {
      requireOpen();
      for (let at = 0; at < doorbells.length; at += sendAtOnce) {
        const bodies = doorbells.slice(at, at + sendAtOnce).map((doorbell) => JSON.stringify(doorbell));
        await on((nats) => nats.publish(lane, bodies));
      }
    },
    async receive({ lanes, max, waitMs, signal }) {
      requireOpen();
      if (signal.aborted) return [];
      return await endedSoon(signal, receiveAny(lanes, max, performance.now() + waitMs, signal), []);
    },
    async ack(deliveries) {
      if (deliveries.length === 0) return;
      requireOpen();
      await on((nats) =>
        nats.acknowledge(
          deliveries.map(({ handle }) => String(handle)),
          "+ACK",
        ),
      );
    },
    async close() {
      if (closed) return;
      // What nobody has received is for the others, at once.
      const replies = held.splice(0).map(({ delivery }) => String(delivery.handle));
      if (replies.length > 0) await on((nats) => nats.acknowledge(replies, "-NAK")).catch(() => {});
      closed = true;
      session.close();
      wake();
    },
  };
}

function settingsOfUrl(text: string): { readonly settings: StreamSettings; readonly login: Login } {
  const parameters = new QueueUrl(text, "nats");
  const storage = parameters.text("storage") ?? defaults.storage;
  if (storage !== "file" && storage !== "memory") throw parameters.refused("storage is neither file nor memory");
  const settings = {
    stream: parameters.text("stream") ?? defaults.stream,
    subject: parameters.text("subject") ?? defaults.subject,
    storage,
    replicas: parameters.integer("replicas", defaults.replicas, 1, replicasMax),
    redeliverMs: parameters.duration("redeliver", defaults.redeliver, redeliverMin, redeliverMax),
  } as const;
  const others = parameters.text("servers")?.split(",") ?? [];
  parameters.requireNothingLeft();
  if (parameters.url.hostname === "") throw parameters.refused("it has no host");
  const { host, username, password } = parameters.url;
  const [user, pass] = [decodeURIComponent(username), decodeURIComponent(password)];
  return {
    settings: requireNames(settings),
    login: {
      servers: [host, ...others],
      ...(pass !== "" ? { user, pass } : user !== "" ? { token: user } : {}),
    },
  };
}

interface Login {
  readonly servers: string[];
  readonly user?: string;
  readonly pass?: string;
  readonly token?: string;
}

function settingsOf(names: NatsNames): StreamSettings {
  const name = "queue nats: redeliver";
  const redeliverMs = toMs(names.redeliver ?? defaults.redeliver, name);
  if (redeliverMs < toMs(redeliverMin, name) || redeliverMs > toMs(redeliverMax, name))
    throw new DoorbellError("option_invalid", `${name} is not from ${redeliverMin} to ${redeliverMax}`);
  return requireNames({
    stream: names.stream ?? defaults.stream,
    subject: names.subject ?? defaults.subject,
    storage: names.storage ?? defaults.storage,
    replicas: names.replicas ?? defaults.replicas,
    redeliverMs,
  });
}

/** They are parts of subjects, where dots, stars and spaces mean something. */
function requireNames(settings: StreamSettings): StreamSettings {
  if (!/^[\w-]{1,200}$/.test(settings.stream))
    throw new DoorbellError("option_invalid", "queue nats: stream is not made of letters, digits, - and _");
  if (!/^[\w-]{1,200}(\.[\w-]{1,200}){0,10}$/.test(settings.subject))
    throw new DoorbellError(
      "option_invalid",
      "queue nats: subject is not made of letters, digits, - and _, with dots between",
    );
  return settings;
}

async function loadNats(
  importPeer: ImportNats = () => Promise.all([import("@nats-io/transport-node"), import("@nats-io/jetstream")]),
): Promise<NatsLibraries> {
  try {
    const [transport, jetstream] = await importPeer();
    const libraries = { ...(transport as object), ...(jetstream as object) } as Partial<NatsLibraries>;
    const { connect, createInbox, jetstreamManager } = libraries;
    if (connect && createInbox && jetstreamManager) return { connect, createInbox, jetstreamManager };
  } catch (cause) {
    throw missing("", cause);
  }
  throw missing(", version 3 or newer");
}

function missing(what: string, cause?: unknown): DoorbellError {
  const text = `a nats: queue needs its libraries${what}: npm install @nats-io/transport-node @nats-io/jetstream`;
  return new DoorbellError("peer_missing", text, { cause });
}

/** Without a cause, which may carry what was sent to log in. */
function unavailable(error: unknown): DoorbellError {
  const { message, code } = error as { readonly message?: string; readonly code?: string };
  return new DoorbellError("queue_unavailable", `nats: ${message || code || "the server could not be reached"}`);
}
