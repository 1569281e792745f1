// The one place that knows the two clients of Redis, ioredis and node-redis: from either to a connection that takes commands
// and answers with what the server said, in strings and arrays. What we use of them is written down here, so that their
// types are no part of ours.
import { DoorbellError } from "../core/errors.ts";
import { answered, type Closable, Unanswered } from "./connection.ts";

/** What ioredis and node-redis have in common, and all that is asked of a client that is given to us: to be copied. */
export interface RedisClient {
  duplicate(...options: never[]): unknown;
}

export interface RedisConnection extends Closable {
  /**
   * Commands of one turn of the event loop travel together. Rejects with ReplyError for what the server refused, and with
   * another error when the connection is of no more use.
   */
  command(args: readonly string[], waitMs?: number): Promise<unknown>;
}

/** An answer of the server's, as "NOGROUP No such key". */
export class ReplyError extends Error {}

/** Makes a connection of its own. `onLost` is called when it has ended. */
export type ConnectRedis = (onLost: () => void) => Promise<RedisConnection>;

export type ImportIoredis = () => Promise<unknown>;

const connectWithinMs = 5_000;
const answerWithinMs = 5_000;

interface Events {
  on(event: string, listener: (error?: unknown) => void): unknown;
}

interface Ioredis extends Events {
  connect(): Promise<unknown>;
  call(command: string, ...args: readonly string[]): Promise<unknown>;
  disconnect(): void;
  duplicate(options: object): Ioredis;
  readonly isCluster?: boolean;
}

interface NodeRedis extends Events {
  connect(): Promise<unknown>;
  sendCommand(args: readonly string[]): Promise<unknown>;
  /** Since version 5; `disconnect` before. */
  destroy?(): void;
  disconnect?(): Promise<void>;
  duplicate(options: object): NodeRedis;
  readonly isOpen: boolean;
  readonly options?: { readonly socket?: object };
}

type IoredisClass = new (url: string, options: object) => Ioredis;

/** Nothing is queued and nothing sent twice while the server is away: calls fail, and the next one connects anew. */
const ioredisOptions = {
  lazyConnect: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  retryStrategy: () => null,
  reconnectOnError: null,
  connectTimeout: connectWithinMs,
  maxRetriesPerRequest: null,
  keyPrefix: "",
};

/** Throws peer_missing, with the way out, where ioredis is not installed. */
export async function connectByUrl(
  url: string,
  importPeer: ImportIoredis = () => import("ioredis"),
): Promise<ConnectRedis> {
  let loaded: unknown;
  try {
    loaded = await importPeer();
  } catch (cause) {
    throw new DoorbellError("peer_missing", "a redis: queue needs ioredis: npm install ioredis", { cause });
  }
  const { Redis, default: exports } = loaded as { Redis?: IoredisClass; default?: { Redis?: IoredisClass } };
  const Client = Redis ?? exports?.Redis;
  if (Client === undefined)
    throw new DoorbellError("peer_missing", "this ioredis has no Redis; install version 5 or newer");
  return (onLost) => openIoredis(new Client(url, ioredisOptions), onLost);
}

/** Takes the client's settings and makes connections of its own with them. Throws option_invalid for anything else. */
export function connectLike(client: RedisClient): ConnectRedis {
  const candidate = client as Partial<Ioredis & NodeRedis> | null | undefined;
  if (typeof candidate?.duplicate !== "function") throw notRedis("it has no method duplicate");
  if (candidate.isCluster === true) throw notRedis("a cluster's client is not supported; give one node's");
  if (typeof candidate.call === "function") {
    const ioredis = candidate as Ioredis;
    return (onLost) => openIoredis(ioredis.duplicate(ioredisOptions), onLost);
  }
  if (typeof candidate.sendCommand === "function") {
    const nodeRedis = candidate as NodeRedis;
    return (onLost) => openNodeRedis(nodeRedis, onLost);
  }
  throw notRedis("it is neither of ioredis nor of node-redis");
}

async function openIoredis(client: Ioredis, onLost: () => void): Promise<RedisConnection> {
  let trouble: unknown = null;
  client.on("error", (error) => {
    trouble ??= error;
  });
  client.on("end", onLost);
  const end = (): void => client.disconnect();
  try {
    await answered("connecting", connectWithinMs, client.connect());
    // As for a database number that is not there, which it would pass by.
    if (trouble !== null) throw trouble;
  } catch (error) {
    end();
    // connect() says no more than that the connection was closed; why, the event has said before.
    throw trouble ?? error;
  }
  return connection((args) => client.call(...(args as [string, ...string[]])), end);
}

async function openNodeRedis(like: NodeRedis, onLost: () => void): Promise<RedisConnection> {
  const client = like.duplicate({
    socket: { ...like.options?.socket, reconnectStrategy: false, connectTimeout: connectWithinMs },
    disableOfflineQueue: true,
    RESP: 2,
    // They exist with RESP 3 only, from version 5.8 on.
    maintNotifications: "disabled",
    commandOptions: undefined,
  });
  client.on("error", onLost);
  client.on("end", onLost);
  const end = (): void => {
    if (!client.isOpen) return;
    if (client.destroy) client.destroy();
    else client.disconnect?.().catch(() => {});
  };
  try {
    await answered("connecting", connectWithinMs, client.connect());
  } catch (error) {
    end();
    throw error;
  }
  return connection((args) => client.sendCommand(args), end);
}

function connection(call: (args: readonly string[]) => Promise<unknown>, end: () => void): RedisConnection {
  return {
    async command(args, waitMs = 0) {
      try {
        return await answered(String(args[0]), answerWithinMs + waitMs, call(args));
      } catch (error) {
        if (error instanceof Unanswered) throw error;
        // The libraries hang the command with all its arguments on their errors. The text is enough.
        const message = error instanceof Error ? error.message : String(error);
        throw /^-?[A-Z]{3,} /.test(message) ? new ReplyError(message) : new Error(message);
      }
    },
    end,
  };
}

function notRedis(why: string): DoorbellError {
  return new DoorbellError("option_invalid", `queue redis: client: ${why}`);
}
