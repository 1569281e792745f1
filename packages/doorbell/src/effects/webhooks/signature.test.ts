import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { webhookSignature } from "./signature.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);
const secretOf = (bytes: Uint8Array) => `whsec_${Buffer.from(bytes).toString("base64")}`;

test("a signature is, byte for byte, what the library of the standard makes", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1, maxLength: 64 }),
      fc.stringMatching(/^[\x21-\x7e]{1,40}$/),
      fc.integer({ min: 0, max: 4_000_000_000 }),
      fc.string({ unit: "grapheme" }),
      (key, id, seconds, body) => {
        const oracle = new Webhook(secretOf(key)).sign(id, new Date(seconds * 1_000), body);
        expect(webhookSignature([secretOf(key)], id, seconds, bytesOf(body))).toBe(oracle);
      },
    ),
  );
});

test("while a secret is rotated, receivers with the old and with the new one both accept", () => {
  const [old, next] = [secretOf(randomBytes(24)), secretOf(randomBytes(32))];
  const seconds = Math.floor(Date.now() / 1_000);
  const headers = {
    "webhook-id": "msg_1",
    "webhook-timestamp": String(seconds),
    "webhook-signature": webhookSignature([next, old], "msg_1", seconds, bytesOf('{"a":1}')),
  };
  for (const secret of [old, next]) expect(new Webhook(secret).verify('{"a":1}', headers)).toEqual({ a: 1 });
  expect(() => new Webhook(secretOf(randomBytes(24))).verify('{"a":1}', headers)).toThrow();
});

test("the prefix is optional", () => {
  const secret = secretOf(randomBytes(24));
  expect(webhookSignature([secret.slice("whsec_".length)], "a", 1, bytesOf("x"))).toBe(
    webhookSignature([secret], "a", 1, bytesOf("x")),
  );
});

test.each(["", "whsec_", "whsec_hunter2", "not base64!", "whsec_a b="])(
  "%j is refused without repeating it",
  (secret) => {
    const attempt = () => webhookSignature([secret], "a", 1, bytesOf("x"));
    expect(attempt).toThrow(expect.objectContaining({ code: "option_invalid" }));
    expect(attempt).not.toThrow(/hunter2/);
  },
);
