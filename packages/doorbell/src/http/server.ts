// The listening socket: opens it, says where it is, and closes it without cutting off who is being served.
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import type { FetchHandler } from "./routes.ts";

export interface HttpServer {
  readonly port: number;
  /** Takes no new connection, lets requests end within so long, cuts the rest off. */
  close(withinMs: number): Promise<void>;
}

const idleLookMs = 50;

/** Resolves when it listens. Port 0: a free one. */
export async function listen(handler: FetchHandler, host: string, port: number): Promise<HttpServer> {
  const server = createAdaptorServer({ fetch: handler.fetch }) as Server;
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (error) {
    throw new Error(
      `cannot serve HTTP on ${host}, port ${port}: ${(error as Error).message}; choose another with DOORBELL_PORT`,
      {
        cause: error,
      },
    );
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
