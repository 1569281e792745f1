// The five roles by the names that somebody gave them. Everything in this package, SQL and findings alike, says
// doorbell_owner and so on; at the two places where that meets a database with other names (the migration, and the doctor)
// the names are put in, and taken out of what comes back. Names are plain identifiers, so they need no quotes, and are as
// good inside a literal as outside.
import type { Tx } from "./database.ts";

export const roleKeys = ["owner", "worker", "web", "producer", "reader"] as const;
export type RoleKey = (typeof roleKeys)[number];
export type RoleNames = Readonly<Record<RoleKey, string>>;

export const ourRoleNames: RoleNames = {
  owner: "doorbell_owner",
  worker: "doorbell_worker",
  web: "doorbell_web",
  producer: "doorbell_producer",
  reader: "doorbell_reader",
};

export const roleNameForm: RegExp = /^[a-z_][a-z0-9_]{0,62}$/;

/** The text with the names as they are here. */
export function named(text: string, names: RoleNames): string {
  if (names === ourRoleNames) return text;
  return text.replace(/\bdoorbell_(owner|worker|web|producer|reader)\b/g, (_, key: RoleKey) => names[key]);
}

/** The reverse of `named`, through arrays and objects. */
function unnamed(value: unknown, names: RoleNames): unknown {
  if (typeof value === "string") {
    const pattern = new RegExp(`\\b(${roleKeys.map((key) => names[key]).join("|")})\\b`, "g");
    const ours = new Map(roleKeys.map((key) => [names[key], ourRoleNames[key]]));
    return value.replace(pattern, (name) => ours.get(name) ?? name);
  }
  if (Array.isArray(value)) return value.map((one) => unnamed(one, names));
  if (value === null || typeof value !== "object" || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, unnamed(one, names)]));
}

/** Speaks to a database with these names as if it had ours. */
export function asIfOurs(tx: Tx, names: RoleNames): Tx {
  if (names === ourRoleNames) return tx;
  return {
    query: async <Row>(text: string, params: readonly unknown[] = []) => {
      const values = params.map((value) => (typeof value === "string" ? named(value, names) : value));
      return unnamed(await tx.query(named(text, names), values), names) as readonly Row[];
    },
  };
}
