// Hashes that are compared across processes and releases: of bytes, and of values.
// Owns the canonical form of a value (members sorted, no white space); changing it would make every stored hash foreign.
import { createHash } from "node:crypto";
import { configure } from "safe-stable-stringify";
import { DoorbellError } from "./errors.ts";

const canonicalJson = configure({ strict: true, circularValue: Error });

/** SHA-256 in lower-case hex; text is hashed as UTF-8. */
export function sha256Hex(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/**
 * SHA-256 over the canonical JSON of a value: equal for equal values, whatever the order of their members. `undefined`
 * (no request at all) has a hash of its own. Throws DoorbellError value_not_storable for what JSON does not have.
 */
export function requestHash(value: unknown): string {
  return sha256Hex(canonical(value));
}

function canonical(value: unknown): string {
  try {
    return canonicalJson(value) ?? "";
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new DoorbellError("value_not_storable", `what is asked for is no JSON: ${reason}`, { cause: error });
  }
}
