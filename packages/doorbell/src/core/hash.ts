/**
 * Hashes that are compared across processes and releases: of bytes, and of values.
 * Owns the canonical form of a value (members sorted, no white space); changing it would make every stored hash foreign.
 */

import { createHash } from "node:crypto";
import { configure } from "safe-stable-stringify";

const canonicalJson = configure({ strict: true, circularValue: Error });

/** SHA-256 in lower-case hex; text is hashed as UTF-8. */
export function sha256Hex(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/**
 * SHA-256 over the canonical JSON of a value: equal for equal values, whatever the order of their members. `undefined`
 * (no request at all) has a hash of its own. Throws for what JSON does not have: pass values that were accepted as storable.
 */
export function requestHash(value: unknown): string {
  return sha256Hex(canonicalJson(value) ?? "");
}
