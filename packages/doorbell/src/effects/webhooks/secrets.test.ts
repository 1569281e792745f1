import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { newWebhookSecret, requireSecretBox, secretBox } from "./secrets.ts";

const key = (letter: string): string => letter.repeat(32);
const place = { tenant: "acme", endpoint: "01890a5d-ac96-774b-bcce-b302099a8057" };

test("what is sealed opens for its place, and shows nothing of itself", () => {
  const box = requireSecretBox([key("a")]);
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme", minLength: 1, maxLength: 100 }),
      fc.string(),
      fc.uuid(),
      (secret, tenant, endpoint) => {
        const sealed = box.seal(secret, { tenant, endpoint });
        expect(box.open(sealed, { tenant, endpoint })).toBe(secret);
        expect(box.seal(secret, { tenant, endpoint })).not.toEqual(sealed);
      },
    ),
  );
  const secret = newWebhookSecret();
  expect(Buffer.from(box.seal(secret, place)).toString("latin1")).not.toContain(secret.slice(0, 12));
});

test("the first key seals and every key opens; without the key nothing does", () => {
  const [old, both, next] = [[key("a")], [key("b"), key("a")], [key("b")]].map(requireSecretBox);
  const before = old?.seal("s", place) ?? new Uint8Array();
  const since = both?.seal("s", place) ?? new Uint8Array();
  expect([old, both, next].map((box) => box?.open(before, place))).toEqual(["s", "s", null]);
  expect([old, both, next].map((box) => box?.open(since, place))).toEqual([null, "s", "s"]);
});

test("a secret that is moved to another tenant or endpoint does not open, nor does one with a bit changed or missing", () => {
  const box = requireSecretBox([key("a")]);
  const sealed = box.seal(newWebhookSecret(), place);
  expect(box.open(sealed, { ...place, tenant: "globex" })).toBeNull();
  expect(box.open(sealed, { ...place, endpoint: "01890a5d-ac96-774b-bcce-b302099a8058" })).toBeNull();
  // The border between the two is part of what is authenticated.
  const odd = box.seal("s", { tenant: "b", endpoint: "a" });
  expect(box.open(odd, { tenant: "", endpoint: "a\nb" })).toBeNull();
  for (let n = 0; n < sealed.length; n += 1) {
    const changed = Uint8Array.from(sealed, (byte, at) => (at === n ? byte ^ 1 : byte));
    expect(box.open(changed, place), `byte ${n}`).toBeNull();
    expect(box.open(sealed.subarray(0, n), place), `cut at ${n}`).toBeNull();
  }
});

test("a new secret is one that the library of the standard takes, and no two are alike", () => {
  const [one, other] = [newWebhookSecret(), newWebhookSecret()];
  expect(one).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(one).not.toBe(other);
  expect(() => new Webhook(one).sign("msg_1", new Date(), "{}")).not.toThrow();
});

test("without keys there is no box, and whoever needs one is told what to set", () => {
  expect(secretBox([])).toBeNull();
  expect(() => requireSecretBox([])).toThrow("set DOORBELL_SECRET_KEYS");
});
