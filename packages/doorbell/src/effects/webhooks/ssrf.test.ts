// The guard against requests to addresses that are not public, tried with every spelling we know, against a server that
// listens on every address of this machine and counts who comes.
import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Client } from "undici";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { guardedConnector, type ResolveHost } from "./guarded-connector.ts";
import { sendWebhook, type WebhookParts } from "./send.ts";

let server: Server;
let port: number;
let connections: number;

beforeAll(async () => {
  server = createServer((_, response) => response.end("SECRET"));
  server.on("connection", () => {
    connections += 1;
  });
  server.listen(0, "::");
  await once(server, "listening");
  port = (server.address() as AddressInfo).port;
});

beforeEach(() => {
  connections = 0;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function send(url: string, parts?: WebhookParts, allowPrivate = false) {
  const request = { url, id: "msg_1", event: "x", data: null, timestampSeconds: 1, deadlineMs: 2_000, allowPrivate };
  return sendWebhook(request, parts);
}

const loopbackHosts =
  "localhost LOCALHOST 127.0.0.1 127.0.0.1. 127.1 127.0.1 127.255.255.254 2130706433 0x7f000001 0x7F.1 0x7f.0.0.1 " +
  "0177.0.0.1 017700000001 0177.1 0 0.0.0.0 0x0 00.0.0.0 000000000 １２７.０.０.１ ①②⑦.⓪.⓪.① 127。0。0。1 %31%32%37.0.0.1 " +
  "[::1] [0:0:0:0:0:0:0:1] [0000::0001] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:7f00:1] [::FFFF:127.0.0.1] " +
  "[::127.0.0.1] [::7f00:1] [::ffff:0:127.0.0.1] [64:ff9b::7f00:1] [64:ff9b::127.0.0.1] [64:ff9b:1::7f00:1] [2002:7f00:1::] " +
  "[2001::1] [2001:0:7f00:1::]";

const privateHosts =
  "10.0.0.5 10.255.255.255 0x0a000005 172.16.0.1 172.31.255.254 192.168.1.1 192.168.257 169.254.169.254 169.254.170.2 0xa9fea9fe " +
  "2852039166 0251.0376.0251.0376 169.16689662 [::ffff:169.254.169.254] [::ffff:a9fe:a9fe] 100.64.0.1 100.100.100.200 168.63.129.16 " +
  "198.18.0.1 192.0.0.8 192.0.0.192 192.0.2.1 198.51.100.1 203.0.113.1 192.88.99.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 " +
  "[fe80::1] [fec0::1] [fc00::1] [fd00::1] [fd00:ec2::254] [ff02::1] [100::1] [2001:db8::1] [3fff::1] [5f00::1] [4000::1] [2001:20::1]";

test.each([...loopbackHosts.split(" "), ...privateHosts.split(" ")])("%s is not connected to", async (host) => {
  expect(await send(`http://${host}:${port}/`)).toMatchObject({
    outcome: "not_done",
    permanent: true,
    reason: expect.stringContaining("is not a public address"),
  });
  expect(await send(`https://${host}:${port}/`)).toMatchObject({ outcome: "not_done", permanent: true });
  expect(connections).toBe(0);
});

test("localhost with a dot at its end is not connected to, whether the system knows it or not", async () => {
  expect(await send(`http://localhost.:${port}/`)).toMatchObject({ outcome: "not_done" });
  expect(connections).toBe(0);
});

test("the server would have been reached: the same spellings connect where private addresses are allowed", async () => {
  for (const host of ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"]) {
    expect(await send(`http://${host}:${port}/`, {}, true), host).toMatchObject({ outcome: "completed" });
  }
  expect(connections).toBe(5);
});

test.each([
  "file:///etc/passwd",
  "ftp://example.com/",
  "gopher://example.com/",
  "javascript:alert(1)",
  "data:text/plain,x",
  "unix:/var/run/docker.sock",
  "http://user:hunter2@example.com/",
  "http://hunter2@example.com/",
  "http://[::1%25lo]/",
  "http://[fe80::1%eth0]/",
  "http://127.0.0.1:99999/",
  "http:///",
  "//example.com/",
  "example.com",
  "",
  `http://example.com/${"x".repeat(2_000)}`,
])("%j is refused as a URL", async (url) => {
  const result = await send(url);
  expect(result).toMatchObject({
    outcome: "not_done",
    permanent: true,
    reason: expect.stringMatching(/^webhook url /),
  });
  expect(JSON.stringify(result)).not.toContain("hunter2");
});

const address = (text: string): LookupAddress => ({ address: text, family: text.includes(":") ? 6 : 4 });

const resolvesTo =
  (...addresses: string[]): ResolveHost =>
  (_host, _options, callback) =>
    callback(null, addresses.map(address));

test.each([
  ["a private address", ["127.0.0.1"]],
  ["a public and a private address", ["93.184.216.34", "127.0.0.1"]],
  ["an IPv4 address in IPv6", ["::ffff:127.0.0.1"]],
  ["an address of IPv6 loopback", ["2606:4700::1111", "::1"]],
])("a name that resolves to %s is not connected to", async (_, addresses) => {
  const result = await send(`http://h.example:${port}/`, { resolve: resolvesTo(...addresses) });
  expect(result).toMatchObject({ outcome: "not_done", permanent: true });
  expect(connections).toBe(0);
});

test("a name that changes between two lookups gains nothing: there is one lookup, and its answer is the one used", async () => {
  let lookups = 0;
  const rebinding: ResolveHost = (_host, _options, callback) => {
    lookups += 1;
    callback(null, [address(lookups === 1 ? "127.0.0.1" : "93.184.216.34")]);
  };
  expect(await send(`http://h.example:${port}/`, { resolve: rebinding })).toMatchObject({ outcome: "not_done" });
  expect(lookups).toBe(1);
  expect(connections).toBe(0);
});

test("a socket that came out at another address than was judged gets no request", async () => {
  const judged: string[] = [];
  const isAllowed = (text: string): boolean => {
    judged.push(text);
    return judged.length === 1;
  };
  const connect = guardedConnector({ isAllowed, timeoutMs: 1_000, resolve: resolvesTo("127.0.0.1") });
  const client = new Client(`http://h.example:${port}`, { connect });
  await expect(client.request({ method: "POST", path: "/" })).rejects.toThrow("is not a public address");
  expect(judged).toEqual(["127.0.0.1", "127.0.0.1"]);
  await client.destroy();
});
