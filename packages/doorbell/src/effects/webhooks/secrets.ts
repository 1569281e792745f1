// The secrets that deliveries to an endpoint are signed with: made here, and sealed before they are stored, so that whoever
// reads the database, a dump or a backup cannot sign. AES-256-GCM, with keys derived from DOORBELL_SECRET_KEYS; the
// tenant and the endpoint are part of what is authenticated, so a row that is moved to another does not open.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { DoorbellError } from "../../core/errors.ts";

/** Whose secret it is. */
export interface SecretPlace {
  readonly tenant: string;
  readonly endpoint: string;
}

/** Seals with the first of its keys, and opens what any of them has sealed. */
export interface SecretBox {
  seal(secret: string, place: SecretPlace): Uint8Array;
  /** Null: none of the keys opens it, for this place. */
  open(sealed: Uint8Array, place: SecretPlace): string | null;
}

const cipher = "aes-256-gcm";
/** Of a sealed secret, in front of its text: how it was sealed, the nonce, the tag. */
const form = 1;
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = 1 + nonceBytes + tagBytes;
/** As Standard Webhooks recommends: 24 to 64. */
const secretBytes = 32;

/** A new secret, as receivers take it: `whsec_` and base64. */
export function newWebhookSecret(): string {
  return `whsec_${randomBytes(secretBytes).toString("base64")}`;
}

/** Null without keys: there is nothing to seal with. */
export function secretBox(secretKeys: readonly string[]): SecretBox | null {
  const keys = secretKeys.map(keyOf);
  const [first] = keys;
  if (first === undefined) return null;
  return {
    seal: (secret, place) => {
      const nonce = randomBytes(nonceBytes);
      const sealing = createCipheriv(cipher, first, nonce, { authTagLength: tagBytes }).setAAD(label(place));
      const text = Buffer.concat([sealing.update(secret, "utf8"), sealing.final()]);
      return Buffer.concat([Buffer.of(form), nonce, sealing.getAuthTag(), text]);
    },
    open: (sealed, place) => {
      if (sealed.length <= headBytes || sealed[0] !== form) return null;
      for (const key of keys) {
        const secret = openWith(key, sealed, label(place));
        if (secret !== null) return secret;
      }
      return null;
    },
  };
}

/** The same, for whoever cannot do without. Throws option_invalid. */
export function requireSecretBox(secretKeys: readonly string[]): SecretBox {
  const box = secretBox(secretKeys);
  if (box !== null) return box;
  throw new DoorbellError(
    "option_invalid",
    "secrets of webhooks are stored sealed, and there is no key: set DOORBELL_SECRET_KEYS (openssl rand -hex 32 makes one), here and for every worker",
  );
}

function openWith(key: Uint8Array, sealed: Uint8Array, aad: Uint8Array): string | null {
  const opening = createDecipheriv(cipher, key, sealed.subarray(1, 1 + nonceBytes), { authTagLength: tagBytes });
  opening.setAAD(aad).setAuthTag(sealed.subarray(1 + nonceBytes, headBytes));
  try {
    return Buffer.concat([opening.update(sealed.subarray(headBytes)), opening.final()]).toString("utf8");
  } catch {
    return null; // another key, another place, or not what was sealed
  }
}

function keyOf(secretKey: string): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", secretKey, "", "doorbell webhook secrets", 32));
}

/** No tenant has a line feed in it: two places never have one label. */
function label({ tenant, endpoint }: SecretPlace): Uint8Array {
  return Buffer.from(`${endpoint.toLowerCase()}\n${tenant}`, "utf8");
}
