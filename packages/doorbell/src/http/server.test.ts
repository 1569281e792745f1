import { once } from "node:events";
import { Agent, get, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { signal } from "../../test/support.ts";
import { listen } from "./server.ts";

const host = "127.0.0.1";

/** A handler that answers when it is told to, and says when it has been asked. */
function held() {
  const asked = signal();
  const answer = signal();
  const fetch = async (): Promise<Response> => {
    asked.resolve();
    await answer.promise;
    return new Response("late");
  };
  return { asked: asked.promise, answer: answer.resolve, fetch };
}

test("a request that is being served ends before the server does, also on a connection that is kept alive", async () => {
  const handler = held();
  const server = await listen(handler, host, 0);
  const agent = new Agent({ keepAlive: true });
  const response = once(get({ host, port: server.port, agent }), "response");
  await handler.asked;
  const closed = server.close(20_000);
  handler.answer();
  const [message] = (await response) as [IncomingMessage];
  expect(await text(message)).toBe("late");
  await closed;
  agent.destroy();
});

test("a request that does not end is cut off after the grace", async () => {
  const handler = held();
  const server = await listen(handler, host, 0);
  const request = get({ host, port: server.port });
  const cut = once(request, "error").catch((error: unknown) => [error]);
  await handler.asked;
  await server.close(50);
  expect(await cut).toMatchObject([{ code: "ECONNRESET" }]);
  handler.answer();
});

test("a port that is taken is told by number, with what to do", async () => {
  const handler = { fetch: () => new Response() };
  const first = await listen(handler, host, 0);
  await expect(listen(handler, host, first.port)).rejects.toThrow(
    new RegExp(`port ${first.port}: .*EADDRINUSE.*DOORBELL_PORT`),
  );
  await first.close(0);
});

/** Sends this text, and resolves with all that comes back before the connection ends. */
async function speak(port: number, text: string): Promise<string> {
  const socket = connect(port, host);
  socket.write(text);
  let answer = "";
  for await (const chunk of socket) answer += chunk;
  return answer;
}

test("who sends too much in the head of a request is refused, before any handler is asked", async () => {
  let asked = 0;
  const server = await listen(
    {
      fetch: () => {
        asked += 1;
        return new Response();
      },
    },
    host,
    0,
  );
  const answer = await speak(server.port, `GET / HTTP/1.1\r\nhost: x\r\ncookie: ${"x".repeat(20_000)}\r\n\r\n`);
  expect(answer).toMatch(/^HTTP\/1\.1 431 /);
  expect(asked).toBe(0);
  await server.close(0);
});

test("who does not come to the end of the head is cut off", async () => {
  const server = await listen({ fetch: () => new Response() }, host, 0, {
    headersTimeout: 100,
    requestTimeout: 200,
    connectionsCheckingInterval: 50,
  });
  expect(await speak(server.port, "GET / HTTP/1.1\r\nhost: x\r\n")).toMatch(/^HTTP\/1\.1 408 /);
  await server.close(0);
});
