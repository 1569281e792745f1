// redis: a stream per lane, with one consumer group. A doorbell is an entry until it is acknowledged, and then deleted, so a
// stream is as long as what is under way. What was given out and not acknowledged is claimed again after the redelivery
// time. Stream and group are made when they are missed, also when somebody has flushed the database.
//
// Entry point `doorbell-jobs/redis`.
import { type Duration, toMs } from "../core/duration.ts";
import { DoorbellError } from "../core/errors.ts";
import { parseBody } from "./body.ts";
import { Connection, endedSoon } from "./connection.ts";
import type { Delivery, QueueDriver } from "./driver.ts";
import { QueueUrl } from "./parameters.ts";
import {
  type ConnectRedis,
  connectByUrl,
  connectLike,
  type ImportIoredis,
  type RedisClient,
  type RedisConnection,
  ReplyError,
} from "./redis-client.ts";

export type { RedisClient } from "./redis-client.ts";

export interface RedisNames {
  /** Comes before the lane in the name of its stream. Default "doorbell:". */
  readonly prefix?: string;
  /** The consumer group. Default "doorbell". */
  readonly group?: string;
  /** What was given out and not acknowledged for so long comes again. Default 30 s; from 100 ms to a day. */
  readonly redeliver?: Duration;
}

/**
 * By URL, with the names as parameters of its query. Or by a client, of ioredis or node-redis, whose settings are taken:
 * the driver makes connections of its own with them and leaves the client alone.
 */
export type RedisOptions = { readonly url: string } | (RedisNames & { readonly client: RedisClient });

interface Settings {
  readonly connect: ConnectRedis;
  readonly prefix: string;
  readonly group: string;
  readonly redeliverMs: number;
}

interface Handle {
  readonly lane: string;
  readonly id: string;
}

/** An entry as Redis tells it: its id, and names and values in turn; null when it was deleted. */
type Entry = readonly [id: string, fields: readonly string[] | null];

const defaults = { prefix: "doorbell:", group: "doorbell", redeliver: "30s" } as const;
const redeliverMin = "100ms";
const redeliverMax = "1d";

/** One name for all: whose entry it is does not matter, only for how long it has been out. */
const consumer = "doorbell";
const field = "doorbell";

/** A blocked read is a part of a wait, so that an abort ends it soon and a dead server is noticed. */
const blockMs = 500;
const sendAtOnce = 1_000;

/** Connects at the first call. Throws option_invalid, peer_missing. */
export async function redisDriver(options: RedisOptions, importPeer?: ImportIoredis): Promise<QueueDriver> {
  return driverOf("url" in options ? await settingsOfUrl(options.url, importPeer) : settingsOfClient(options));
}

function driverOf({ connect, prefix, group, redeliverMs }: Settings): QueueDriver {
  const commands = new Connection<RedisConnection>(connect);
  /** Those that no receive blocks at the moment. */
  const idle: Connection<RedisConnection>[] = [];
  const blocking = new Set<Connection<RedisConnection>>();
  /** Lanes whose group has been there. */
  const known = new Set<string>();
  /** By lane: where the search for what was left lying goes on, and when the next one begins. */
  const searches = new Map<string, { cursor: string; at: number }>();
  /** Came beside what was asked for: every lane gives at least one. The next receive has them first. */
  let held: { readonly delivery: Delivery; readonly lane: string; readonly until: number }[] = [];
  let closed = false;

  const keyOf = (lane: string): string => prefix + lane;
  const requireOpen = (): void => {
    if (closed) throw new DoorbellError("closed", "queue redis is closed");
  };

  /** On one connection. Its errors become operating errors, and it is not used again after one that is no answer. */
  const on = async <T>(
    connection: Connection<RedisConnection>,
    run: (redis: RedisConnection) => Promise<T>,
  ): Promise<T> => {
    let redis: RedisConnection | null = null;
    try {
      redis = await connection.get();
      return await run(redis);
    } catch (error) {
      requireOpen();
      // A server that has become a replica: the address may lead to the new one.
      if (error instanceof ReplyError && !says(error, "READONLY")) throw error;
      if (redis !== null) connection.drop(redis);
      throw unavailable(error);
    }
  };

  const makeGroups = (lanes: readonly string[]): Promise<unknown> =>
    on(commands, (redis) =>
      Promise.all(
        lanes.map(async (lane) => {
          try {
            // From the beginning: what was sent before the first receiver came is there for it.
            await redis.command(["XGROUP", "CREATE", keyOf(lane), group, "0", "MKSTREAM"]);
          } catch (error) {
            if (!says(error, "BUSYGROUP")) throw error;
          }
          known.add(lane);
        }),
      ),
    );

  /** Makes the groups where they have gone, and tries once more. */
  const withGroups = async <T>(lanes: readonly string[], run: () => Promise<T>): Promise<T> => {
    try {
      const unknown = lanes.filter((lane) => !known.has(lane));
      if (unknown.length > 0) await makeGroups(unknown);
      try {
        return await run();
      } catch (error) {
        if (!says(error, "NOGROUP") && !says(error, "UNBLOCKED")) throw error;
        await makeGroups(lanes);
        return await run();
      }
    } catch (error) {
      throw error instanceof ReplyError ? unavailable(error) : error;
    }
  };

  const deliveryOf = (lane: string, [id, fields]: Entry): Delivery => ({
    body: bodyOf(fields ?? []),
    handle: { lane, id } satisfies Handle,
  });

  const read = async (
    redis: RedisConnection,
    lanes: readonly string[],
    count: number,
    waitMs: number,
  ): Promise<{ readonly lane: string; readonly delivery: Delivery }[]> => {
    const block = waitMs > 0 ? ["BLOCK", String(waitMs)] : [];
    const streams = [...lanes.map(keyOf), ...lanes.map(() => ">")];
    const args = ["XREADGROUP", "GROUP", group, consumer, "COUNT", String(count), ...block, "STREAMS", ...streams];
    const answer = (await redis.command(args, waitMs)) as [key: string, entries: Entry[]][] | null;
    return (answer ?? []).flatMap(([key, entries]) => {
      const lane = key.slice(prefix.length);
      return entries.map((entry) => ({ lane, delivery: deliveryOf(lane, entry) }));
    });
  };

  /** What was given out too long ago. Looked for now and then; a search that has found its end rests. */
  const claim = async (lane: string, max: number): Promise<Delivery[]> => {
    const search = searches.get(lane) ?? { cursor: "0-0", at: 0 };
    if (performance.now() < search.at) return [];
    const [cursor, entries] = (await on(commands, (redis) =>
      redis.command([
        "XAUTOCLAIM",
        keyOf(lane),
        group,
        consumer,
        String(redeliverMs),
        search.cursor,
        "COUNT",
        String(max),
      ]),
    )) as [string, (Entry | null)[]];
    searches.set(lane, { cursor, at: cursor === "0-0" ? performance.now() + redeliverMs / 5 : 0 });
    return entries.flatMap((entry) => (entry?.[1] ? [deliveryOf(lane, entry)] : []));
  };

  const takeHeld = (lanes: readonly string[], max: number): Delivery[] => {
    // Past its time it is given out by the claim.
    held = held.filter(({ until }) => performance.now() < until);
    const taken = held.filter(({ lane }) => lanes.includes(lane)).slice(0, max);
    held = held.filter((one) => !taken.includes(one));
    return taken.map(({ delivery }) => delivery);
  };

  const readFresh = async (
    connection: Connection<RedisConnection>,
    lanes: readonly string[],
    max: number,
    waitMs: number,
  ): Promise<Delivery[]> => {
    const share = Math.max(1, Math.floor(max / lanes.length));
    const came = await on(connection, (redis) => read(redis, lanes, share, waitMs));
    for (const lane of lanes.length > 1 ? lanes : []) {
      const left = max - came.length;
      // A lane that gave its whole share may have more, and others have left room.
      if (left > 0 && came.filter((one) => one.lane === lane).length === share)
        came.push(...(await on(connection, (redis) => read(redis, [lane], left, 0))));
    }
    const until = performance.now() + redeliverMs / 2;
    held.push(...came.slice(max).map((one) => ({ ...one, until })));
    return came.slice(0, max).map(({ delivery }) => delivery);
  };

  const receiveOn = async (
    connection: Connection<RedisConnection>,
    lanes: readonly string[],
    max: number,
    until: number,
    signal: AbortSignal,
  ): Promise<readonly Delivery[]> => {
    for (;;) {
      const taken = takeHeld(lanes, max);
      if (taken.length > 0) return taken;
      for (const lane of lanes) {
        if (taken.length < max) taken.push(...(await withGroups([lane], () => claim(lane, max - taken.length))));
      }
      const leftMs = taken.length > 0 || signal.aborted ? 0 : Math.ceil(until - performance.now());
      const waitMs = Math.max(0, Math.min(blockMs, leftMs));
      if (taken.length < max)
        taken.push(...(await withGroups(lanes, () => readFresh(connection, lanes, max - taken.length, waitMs))));
      if (taken.length > 0 || closed || signal.aborted || performance.now() >= until) return taken;
    }
  };

  /** On a connection of its own, since a read that blocks keeps everything behind it waiting. */
  const receiveAny = async (
    lanes: readonly string[],
    max: number,
    until: number,
    signal: AbortSignal,
  ): Promise<readonly Delivery[]> => {
    const connection = idle.pop() ?? new Connection<RedisConnection>(connect);
    blocking.add(connection);
    try {
      return await receiveOn(connection, lanes, max, until, signal);
    } catch (error) {
      if (closed || signal.aborted) return [];
      throw error;
    } finally {
      blocking.delete(connection);
      if (closed) connection.close();
      else idle.push(connection);
    }
  };

  return {
    name: "redis",
    capabilities: { line: false, sent: true, inProcess: false, redelivers: true },
    async send(lane, doorbells) {
      requireOpen();
      try {
        for (let at = 0; at < doorbells.length; at += sendAtOnce) {
          const batch = doorbells.slice(at, at + sendAtOnce);
          await on(commands, (redis) =>
            Promise.all(
              batch.map((doorbell) => redis.command(["XADD", keyOf(lane), "*", field, JSON.stringify(doorbell)])),
            ),
          );
        }
      } catch (error) {
        throw error instanceof ReplyError ? unavailable(error) : error;
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
      const idsByLane = new Map<string, string[]>();
      for (const { handle } of deliveries) {
        const { lane, id } = handle as Handle;
        idsByLane.set(lane, [...(idsByLane.get(lane) ?? []), id]);
      }
      try {
        await on(commands, (redis) =>
          Promise.all(
            [...idsByLane].flatMap(([lane, ids]) => [
              redis.command(["XACK", keyOf(lane), group, ...ids]),
              redis.command(["XDEL", keyOf(lane), ...ids]),
            ]),
          ),
        );
      } catch (error) {
        throw error instanceof ReplyError ? unavailable(error) : error;
      }
    },
    async close() {
      closed = true;
      for (const connection of [commands, ...idle, ...blocking]) connection.close();
    },
  };
}

async function settingsOfUrl(text: string, importPeer: ImportIoredis | undefined): Promise<Settings> {
  const parameters = new QueueUrl(text, "redis");
  const names = {
    prefix: parameters.text("prefix") ?? defaults.prefix,
    group: parameters.text("group") ?? defaults.group,
    redeliverMs: parameters.duration("redeliver", defaults.redeliver, redeliverMin, redeliverMax),
  };
  parameters.requireNothingLeft();
  if (parameters.url.hostname === "") throw parameters.refused("it has no host");
  return { ...names, connect: await connectByUrl(parameters.url.href, importPeer) };
}

function settingsOfClient({
  client,
  prefix,
  group,
  redeliver,
}: RedisNames & { readonly client: RedisClient }): Settings {
  const name = "queue redis: redeliver";
  const redeliverMs = toMs(redeliver ?? defaults.redeliver, name);
  if (redeliverMs < toMs(redeliverMin, name) || redeliverMs > toMs(redeliverMax, name))
    throw new DoorbellError("option_invalid", `${name} is not from ${redeliverMin} to ${redeliverMax}`);
  return {
    connect: connectLike(client),
    prefix: prefix ?? defaults.prefix,
    group: group ?? defaults.group,
    redeliverMs,
  };
}

/** An entry that we did not write may have any fields. */
function bodyOf(fields: readonly string[]): unknown {
  if (fields.length === 2 && fields[0] === field) return parseBody(String(fields[1]));
  return Object.fromEntries(fields.flatMap((name, at) => (at % 2 === 0 ? [[name, fields[at + 1]]] : [])));
}

function says(error: unknown, word: string): boolean {
  return error instanceof ReplyError && error.message.startsWith(word);
}

/** Without a cause: the libraries' errors may carry what was sent to log in. */
function unavailable(error: unknown): DoorbellError {
  const { message, code } = error as { readonly message?: string; readonly code?: string };
  return new DoorbellError("queue_unavailable", `redis: ${message || code || "the server could not be reached"}`);
}
