// What a tenant id may be. Everything else about tenants is the database's business.
// Opaque text: never trimmed, never folded, never interpreted.
import { DoorbellError } from "./errors.ts";
import { unstorablePart, utf8Bytes } from "./text.ts";

/** In bytes of UTF-8, so that every doorbell of the id fits a NOTIFY and every index row a page. */
export const tenantMaxBytes = 200;

/**
 * The tenant id, or tenant_invalid: 1 to 200 bytes of UTF-8 without control characters and lone surrogates. "*" is
 * refused because operators' tools write it for "all tenants".
 */
export function requireTenant(tenant: unknown): string {
  const reason = objection(tenant);
  if (reason !== null) throw new DoorbellError("tenant_invalid", `tenant id ${reason}`);
  return tenant as string;
}

function objection(tenant: unknown): string | null {
  if (typeof tenant !== "string") return `is ${tenant === null ? "null" : typeof tenant}, not a string`;
  if (tenant === "") return "is empty";
  if (tenant === "*") return 'is "*", which stands for all tenants';
  if (tenant.length > tenantMaxBytes || utf8Bytes(tenant) > tenantMaxBytes) {
    return `is longer than ${tenantMaxBytes} bytes`;
  }
  if (/\p{Control}/u.test(tenant)) return "contains a control character";
  return unstorablePart(tenant) === null ? null : "contains a lone surrogate";
}
