// An account's side of the webhooks: takes them, tells repeats by their id as Standard Webhooks wants it, and keeps a log
// of its own, by which is counted what Doorbell claims.
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface Delivery {
  readonly webhookId: string;
  readonly event: string;
  readonly documentId: string;
  /** The account that the path names. */
  readonly account: string;
  readonly at: Date;
  /** This id was processed before: it was answered, and not processed again. */
  readonly repeat: boolean;
}

export interface WebhookReceiver extends AsyncDisposable {
  /** Where the webhooks of an account go. */
  urlOf(account: string): string;
  /** Every request that was accepted, in the order of their arrival. */
  readonly deliveries: readonly Delivery[];
}

/** Listens on a free port of 127.0.0.1. */
export async function startWebhookReceiver(
  onDelivery: (delivery: Delivery) => void = () => {},
): Promise<WebhookReceiver> {
  const deliveries: Delivery[] = [];
  const processed = new Set<string>();

  const take = (request: IncomingMessage, body: string): void => {
    const { type, data } = JSON.parse(body) as { type: string; data: { documentId: string } };
    const webhookId = String(request.headers["webhook-id"]);
    const delivery: Delivery = {
      webhookId,
      event: type,
      documentId: data.documentId,
      account: request.url?.split("/").at(-1) ?? "",
      at: new Date(),
      repeat: processed.has(webhookId),
    };
    processed.add(webhookId);
    deliveries.push(delivery);
    onDelivery(delivery);
  };

  const server = createServer(async (request, response) => {
    take(request, await textOf(request));
    response.writeHead(204).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    urlOf: (account) => `http://127.0.0.1:${port}/hooks/${account}`,
    deliveries,
    [Symbol.asyncDispose]: () => closeServer(server),
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
