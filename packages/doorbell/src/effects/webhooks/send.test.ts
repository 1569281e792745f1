import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket, type Server as TcpServer } from "node:net";
import { Webhook } from "standardwebhooks";
import { afterEach, expect, test } from "vitest";
import { sendWebhook, type WebhookRequest } from "./send.ts";

const testSecret = `whsec_${Buffer.from("k".repeat(32)).toString("base64")}`;

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function listen(server: TcpServer | Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, "close");
  });
  return (server.address() as AddressInfo).port;
}

function httpServer(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<number> {
  return listen(createServer(answer));
}

/** A server that hands over each connection once the whole request has come. */
function rawServer(onRequest: (socket: Socket) => void): Promise<number> {
  return listen(
    createTcpServer((socket) => {
      socket.on("error", () => {});
      let received = "";
      socket.on("data", (chunk) => {
        received += chunk.toString("latin1");
        if (received.endsWith("}")) onRequest(socket);
      });
    }),
  );
}

function requestTo(port: number, changes: Partial<WebhookRequest> = {}): WebhookRequest {
  return {
    url: `http://127.0.0.1:${port}/hook?x=1`,
    id: "msg_1",
    event: "invoice.accepted",
    data: { number: "Æ-1", total: 10.5 },
    timestampSeconds: Math.floor(Date.now() / 1_000),
    deadlineMs: 5_000,
    allowPrivate: true,
    ...changes,
  };
}

test("the receiver gets a signed POST whose signature is over exactly the bytes it got", async () => {
  const received: {
    method?: string | undefined;
    url?: string | undefined;
    headers: Record<string, string>;
    body: string;
  }[] = [];
  const port = await httpServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    received.push({
      method: request.method,
      url: request.url,
      headers: request.headers as Record<string, string>,
      body,
    });
    response.writeHead(202).end("thanks");
  });
  const occurredAt = new Date("2027-01-02T03:04:05.000Z");
  expect(await sendWebhook(requestTo(port, { secret: testSecret, occurredAt }))).toEqual({
    outcome: "completed",
    status: 202,
  });
  const [{ method, url, headers, body }] = received as [(typeof received)[0]];
  expect({ method, url, type: headers["content-type"] }).toEqual({
    method: "POST",
    url: "/hook?x=1",
    type: "application/json",
  });
  expect(headers["webhook-id"]).toBe("msg_1");
  expect(new Webhook(testSecret).verify(body, headers)).toEqual({
    type: "invoice.accepted",
    timestamp: "2027-01-02T03:04:05.000Z",
    data: { number: "Æ-1", total: 10.5 },
  });
});

test("each attempt has its own time and signature, the same id and the same body", async () => {
  const received: string[][] = [];
  const port = await httpServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const header = (name: string) => String(request.headers[name]);
    received.push([header("webhook-id"), body, header("webhook-timestamp"), header("webhook-signature")]);
    response.writeHead(500).end();
  });
  await sendWebhook(requestTo(port, { secret: testSecret, timestampSeconds: 1_000 }));
  await sendWebhook(requestTo(port, { secret: testSecret, timestampSeconds: 2_000 }));
  const [first, second] = received as [string[], string[]];
  expect(first.slice(0, 2)).toEqual(second.slice(0, 2));
  expect([first[2], second[2]]).toEqual(["1000", "2000"]);
  expect(first[3]).not.toBe(second[3]);
});

test("without a secret the request goes unsigned", async () => {
  let headers: IncomingMessage["headers"] = {};
  const port = await httpServer((request, response) => {
    headers = request.headers;
    response.end();
  });
  expect(await sendWebhook(requestTo(port))).toMatchObject({ outcome: "completed" });
  expect(headers).not.toHaveProperty("webhook-signature");
});

test("an answer that is no success gives its status and the beginning of what it said, without secrets", async () => {
  const port = await httpServer((_, response) => {
    response.writeHead(422).end(`{"error":"no such\n account","token":"hunter2"} ${"x".repeat(10_000)}`);
  });
  const result = await sendWebhook(requestTo(port));
  expect(result).toMatchObject({
    outcome: "not_done",
    permanent: true,
    reason: expect.stringMatching(/^127\.0\.0\.1:\d+ answered 422: \{"error":"no such account"/),
  });
  const { reason } = result as { reason: string };
  expect(reason).not.toContain("hunter2");
  expect(reason).not.toContain("/hook");
  expect(reason.length).toBeLessThan(400);
});

test("a busy receiver's Retry-After is passed on", async () => {
  const port = await httpServer((_, response) => response.writeHead(429, { "retry-after": "120" }).end());
  expect(await sendWebhook(requestTo(port))).toMatchObject({ outcome: "not_done", retryAfterMs: 120_000 });
});

test.each([301, 302, 303, 307, 308])("a redirect (%d) is never followed", async (status) => {
  let reached = 0;
  const target = await httpServer((_, response) => {
    reached += 1;
    response.end("SECRET");
  });
  const port = await httpServer((_, response) => {
    response.writeHead(status, { location: `http://127.0.0.1:${target}/` }).end();
  });
  expect(await sendWebhook(requestTo(port))).toMatchObject({ outcome: "not_done" });
  expect(reached).toBe(0);
});

test("a refused connection is not done", async () => {
  const port = await httpServer(() => {});
  for (const close of closing.splice(0)) await close();
  expect(await sendWebhook(requestTo(port))).toEqual({
    outcome: "not_done",
    reason: expect.stringContaining("ECONNREFUSED"),
  });
});

test("a name that cannot be resolved is not done", async () => {
  const notFound = Object.assign(new Error("getaddrinfo ENOTFOUND h.example"), { code: "ENOTFOUND" });
  const result = await sendWebhook(requestTo(1, { url: "http://h.example/" }), {
    resolve: (_host, _options, callback) => callback(notFound, []),
  });
  expect(result).toEqual({ outcome: "not_done", reason: "h.example: getaddrinfo ENOTFOUND h.example" });
});

test("a TLS handshake that fails is not done", async () => {
  const port = await httpServer((_, response) => response.end());
  const result = await sendWebhook(requestTo(port, { url: `https://127.0.0.1:${port}/` }));
  expect(result).toMatchObject({ outcome: "not_done" });
  expect(result).not.toHaveProperty("permanent");
});

test("a deadline that passes before anything was sent is not done", async () => {
  const result = await sendWebhook(requestTo(1, { url: "http://h.example/", deadlineMs: 50 }), { resolve: () => {} });
  expect(result).toEqual({ outcome: "not_done", reason: "h.example: no answer within 50 ms" });
});

test("a deadline that passes after the request was sent is unknown", async () => {
  const port = await rawServer(() => {});
  const startedAtMs = performance.now();
  const result = await sendWebhook(requestTo(port, { deadlineMs: 200 }));
  expect(result).toMatchObject({ outcome: "unknown", reason: expect.stringContaining("no answer within 200 ms") });
  expect(performance.now() - startedAtMs).toBeLessThan(2_000);
});

test.each<[string, (socket: Socket) => void]>([
  ["reset", (socket) => socket.resetAndDestroy()],
  ["closed without an answer", (socket) => socket.end()],
  ["closed within the head of the answer", (socket) => socket.end("HTTP/1.1 200 OK\r\nContent-")],
  ["answered with something that is not HTTP", (socket) => socket.end("SSH-2.0-OpenSSH_9.6\r\n")],
  ["answered with an enormous head", (socket) => socket.end(`HTTP/1.1 200 OK\r\nx: ${"y".repeat(100_000)}\r\n\r\n`)],
])("a connection that is %s after the request was sent is unknown", async (_, end) => {
  expect(await sendWebhook(requestTo(await rawServer(end)))).toMatchObject({ outcome: "unknown" });
});

test("a success is a success from its head on, whatever its body does", async () => {
  for (const end of [
    (socket: Socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2000000000\r\n\r\nx"),
    (socket: Socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx"),
  ]) {
    const startedAtMs = performance.now();
    expect(await sendWebhook(requestTo(await rawServer(end)))).toEqual({ outcome: "completed", status: 200 });
    expect(performance.now() - startedAtMs).toBeLessThan(2_000);
  }
});

test("an answer that drips ends at the deadline, with the status it began with", async () => {
  const port = await rawServer((socket) => {
    socket.write("HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n");
    const drip = setInterval(() => socket.write("1\r\nx\r\n"), 20);
    socket.on("close", () => clearInterval(drip));
  });
  const startedAtMs = performance.now();
  expect(await sendWebhook(requestTo(port, { deadlineMs: 300 }))).toMatchObject({
    outcome: "not_done",
    permanent: true,
  });
  expect(performance.now() - startedAtMs).toBeLessThan(2_000);
});

test("of an endless answer no more than the limit is read", async () => {
  let socketOfAnswer: Socket | undefined;
  const port = await rawServer((socket) => {
    socketOfAnswer = socket;
    socket.write("HTTP/1.1 500 Oops\r\nContent-Length: 2000000000\r\n\r\n");
    const chunk = Buffer.alloc(65_536, "x");
    const pump = (): void => {
      while (socket.writable && socket.write(chunk));
    };
    socket.on("drain", pump);
    pump();
  });
  const startedAtMs = performance.now();
  expect(await sendWebhook(requestTo(port))).toMatchObject({ outcome: "unknown" });
  expect(performance.now() - startedAtMs).toBeLessThan(2_000);
  // What the kernel's buffers hold comes on top of the limit.
  expect(socketOfAnswer?.bytesWritten).toBeLessThan(20_000_000);
});

test("an attempt that ended before the request was sent is not done, after it unknown", async () => {
  const port = await rawServer(() => arrived());
  const controller = new AbortController();
  const arrived = (): void => controller.abort();
  expect(await sendWebhook(requestTo(port, { signal: controller.signal }))).toMatchObject({ outcome: "unknown" });
  expect(await sendWebhook(requestTo(port, { signal: controller.signal }))).toMatchObject({ outcome: "not_done" });
});

test("no listener stays on the caller's signal", async () => {
  const port = await httpServer((_, response) => response.end());
  const { signal } = new AbortController();
  let listeners = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    listeners += 1;
    add(...args);
  };
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listeners -= 1;
    remove(...args);
  };
  await sendWebhook(requestTo(port, { signal }));
  expect(listeners).toBe(0);
});

test.each<[string, Partial<WebhookRequest>]>([
  ["an id with a line feed", { id: "a\r\nx-evil: 1" }],
  ["an empty id", { id: "" }],
  ["a secret that is no base64", { secret: "hunter2!" }],
  ["data that is no JSON", { data: { n: 1n } }],
  ["data of 2 MB", { data: "x".repeat(2_000_000) }],
  ["a deadline that is no number", { deadlineMs: Number.NaN }],
])("%s is refused for good, before anything is sent", async (_, changes) => {
  let connections = 0;
  const server = createServer((_request, response) => response.end());
  server.on("connection", () => {
    connections += 1;
  });
  const result = await sendWebhook(requestTo(await listen(server), changes));
  expect(result).toMatchObject({ outcome: "not_done", permanent: true });
  expect(JSON.stringify(result)).not.toContain("hunter2");
  expect(connections).toBe(0);
});
