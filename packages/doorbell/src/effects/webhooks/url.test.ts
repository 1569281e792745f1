import { expect, test } from "vitest";
import { spellingsOf } from "../../../test/spellings.ts";
import { refusePrivateAddress, webhookUrl } from "./url.ts";

test.each([
  "127.0.0.1",
  "10.1.2.3",
  "172.16.0.9",
  "192.168.1.1",
  "169.254.169.254",
  "100.64.0.1",
  "0.0.0.0",
  "224.0.0.1",
])("%s is refused as an endpoint, in each of its spellings", (address) => {
  const spellings = spellingsOf(address);
  expect(spellings.length).toBeGreaterThan(40);
  for (const host of spellings) {
    expect(() => refusePrivateAddress(webhookUrl(`https://${host}:8443/in`)), host).toThrow("is not a public address");
  }
});

test.each([
  "localhost",
  "LOCALHOST.",
  "a.localhost",
  "[::1]",
  "[::]",
  "[fe80::1]",
  "[fd00::1]",
  "[fec0::1]",
  "[ff02::1]",
])("%s is refused", (host) => {
  expect(() => refusePrivateAddress(webhookUrl(`http://${host}/`))).toThrow("is not a public address");
});

test.each(["8.8.8.8", "[2606:4700::1111]", "hooks.example.com", "localhost.example.com", "notlocalhost"])(
  "%s passes: if it is a name, its addresses are judged at each connection",
  (host) => {
    expect(() => refusePrivateAddress(webhookUrl(`https://${host}/in?x=1`))).not.toThrow();
  },
);

test("what a refusal says is the host, and nothing of path and query", () => {
  const refuse = () => refusePrivateAddress(webhookUrl("https://10.0.0.1/hunter2?token=hunter2"));
  expect(refuse).toThrow("webhook url leads to 10.0.0.1, which is not a public address");
  expect(() => webhookUrl("https://me:hunter2@example.com/")).toThrow(/^webhook url holds a user or a password$/);
});
