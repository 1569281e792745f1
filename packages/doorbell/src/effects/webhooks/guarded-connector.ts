// Opens the connections of webhooks, and judges every one by the address it really goes to, at three places:
// literals, for which Node never asks the resolver; all answers of the resolver, of which it may use any; and the remote
// address of the socket that came out. There is no window between a check of the name and its use.
import { type LookupAddress, type LookupAllOptions, lookup as resolveHost } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { buildConnector } from "undici";

/** A resolver as dns.lookup is one, asked for all addresses of a host. */
export type ResolveHost = (
  host: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface ConnectorOptions {
  readonly isAllowed: (address: string) => boolean;
  readonly timeoutMs: number;
  /** Default: the resolver of the system. */
  readonly resolve?: ResolveHost | undefined;
}

export class BlockedAddressError extends Error {
  override readonly name = "BlockedAddressError";

  constructor(address: string) {
    super(`${address} is not a public address`);
  }
}

export function guardedConnector({ isAllowed, timeoutMs, resolve }: ConnectorOptions): buildConnector.connector {
  const open = buildConnector({ timeout: timeoutMs, lookup: guardedLookup(isAllowed, resolve ?? resolveHost) });
  return (options, callback) => {
    const host = options.hostname.replace(/^\[|\]$/g, "");
    if (isIP(host) !== 0 && !isAllowed(host)) return callback(new BlockedAddressError(host), null);
    open(options, (error, socket) => {
      if (error !== null) return callback(error, null);
      const address = socket.remoteAddress ?? "an unknown address";
      if (isAllowed(address)) return callback(null, socket);
      socket.destroy();
      callback(new BlockedAddressError(address), null);
    });
  };
}

function guardedLookup(isAllowed: (address: string) => boolean, resolve: ResolveHost): LookupFunction {
  return (host, options, callback) => {
    resolve(host, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, []);
      const blocked = addresses.find(({ address }) => !isAllowed(address));
      if (blocked !== undefined) return callback(new BlockedAddressError(blocked.address), []);
      const [first] = addresses;
      if (first === undefined) return callback(new Error(`${host} has no address`), []);
      if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}
