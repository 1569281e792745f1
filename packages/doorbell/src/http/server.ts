// The listening socket: opens it, says where it is, and closes it without cutting off who is being served. Whoever speaks
// too slowly or too much is cut off by the bounds here; how large a body may be is for the application to say.
import { once } from "node:events";
import type { Server, ServerOptions } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import type { FetchHandler } from "./routes.ts";

export interface HttpServer {
  readonly port: number;
  /** Takes no new connection, lets requests end within so long, cuts the rest off. */
  close(withinMs: number): Promise<void>;
}

/** What one connection may take up. */
const bounds: ServerOptions = {
  maxHeaderSize: 16_384,
  headersTimeout: 15_000,
  /** An upload of 64 MB over a bad line has to fit. */
  requestTimeout: 300_000,
  /** Longer than load balancers keep a connection: who closes first must not be the side that is being spoken to. */
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 5_000,
};

const idleLookMs = 50;

/** Resolves when it listens. Port 0: a free one. Rejects with what to do when it cannot. */
export async function listen(
  handler: FetchHandler,
  host: string,
  port: number,
  options: ServerOptions = bounds,
): Promise<HttpServer> {
  const server = createAdaptorServer({ fetch: handler.fetch, serverOptions: options }) as Server;
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (cause) {
    const what = `cannot serve HTTP on ${host}, port ${port}: ${(cause as Error).message}`;
    throw new Error(`${what}; choose another with DOORBELL_PORT`, { cause });
  }
  return { port: (server.address() as AddressInfo).port, close: (withinMs) => close(server, withinMs) };
}

async function close(server: Server, withinMs: number): Promise<void> {
  const closed = once(server, "close");
  server.close();
  // A connection that is kept alive is idle, and so closed, only once its request has ended.
  const idleTimer = setInterval(() => server.closeIdleConnections(), idleLookMs);
  const cutTimer = setTimeout(() => server.closeAllConnections(), withinMs);
  await closed;
  clearInterval(idleTimer);
  clearTimeout(cutTimer);
}
