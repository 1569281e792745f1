// Signatures of webhooks as Standard Webhooks 1.0 defines them (HMAC-SHA256 over `id.timestamp.body`), so that any of
// its libraries can verify them. Several secrets give several signatures in one header: that is how a secret is rotated.
import { createHmac } from "node:crypto";
import { DoorbellError } from "../../core/errors.ts";

const prefix = "whsec_";
const base64Text = /^[A-Za-z0-9+/]+={0,2}$/;

/** The value of the `webhook-signature` header. Throws option_invalid, without the secret, for one that is no base64. */
export function webhookSignature(
  secrets: readonly string[],
  id: string,
  timestampSeconds: number,
  body: Uint8Array,
): string {
  return secrets
    .map((secret) => {
      const hmac = createHmac("sha256", keyOf(secret));
      return `v1,${hmac.update(`${id}.${timestampSeconds}.`).update(body).digest("base64")}`;
    })
    .join(" ");
}

/** Secrets are base64, usually with `whsec_` in front. */
function keyOf(secret: string): Uint8Array {
  const encoded = secret.startsWith(prefix) ? secret.slice(prefix.length) : secret;
  if (!base64Text.test(encoded) || encoded.length % 4 !== 0) {
    throw new DoorbellError("option_invalid", "a webhook secret is not base64 (with or without whsec_ in front)");
  }
  return Buffer.from(encoded, "base64");
}
