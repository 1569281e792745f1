// Signed tenancy for tests: a secret that the database is made to accept, and tokens that are worth nothing.
import type pg from "pg";
import { type Tenancy, tenancyOf, tokenKeys } from "../../src/store/tenancy.ts";

export const signed = {
  tenancy: "signed",
  tenancySecrets: ["a secret of the tests and long enough"] as readonly string[],
} as const;

/** How a client signs with the first of these secrets, and what makes a database verify it. */
export function signing(tenancySecrets: readonly string[] = signed.tenancySecrets): {
  readonly tenancy: Tenancy;
  accept(admin: pg.Client): Promise<void>;
  acceptBy(run: (sql: string) => Promise<unknown>): Promise<void>;
} {
  const options = { tenancy: "signed", tenancySecrets } as const;
  const keys = tokenKeys(options).map((key) => `'\\x${key.toString("hex")}'::bytea`);
  const acceptBy = async (run: (sql: string) => Promise<unknown>): Promise<void> =>
    void (await run(
      `begin; set local role doorbell_owner; select doorbell.accept_tokens(array[${keys.join(", ")}]); commit`,
    ));
  return { tenancy: tenancyOf(null, options), acceptBy, accept: (admin) => acceptBy((sql) => admin.query(sql)) };
}

/** Tokens that do not put tenant-a in force, though each is nearly one that does. */
export function worthlessTokens(sign: (tenant: string) => string): readonly (readonly [what: string, token: string])[] {
  const [tenant, expiry = "", mac = ""] = sign("tenant-a").split("|");
  const forger = tenancyOf(null, { tenancy: "signed", tenancySecrets: ["another secret which is long enough"] });
  const late = tenancyOf(null, { ...signed, tenancyTokenMs: -1 });
  return [
    ["no token", ""],
    ["a token of another secret", forger.sign?.("tenant-a") ?? ""],
    ["a token that has expired", late.sign?.("tenant-a") ?? ""],
    ["B's token", sign("tenant-b")],
    ["the token for all", sign("*")],
    ["a token made to live longer", `${tenant}|${Number(expiry) + 1}|${mac}`],
    ["B's token in A's name", `tenant-a|${sign("tenant-b").split("|").slice(1).join("|")}`],
    ["a token without its end", sign("tenant-a").slice(0, -1)],
    ["a token in capitals", `${tenant}|${expiry}|${mac.toUpperCase()}`],
    ["a token with a line more", `${sign("tenant-a")}\n`],
    ["a token of another's before it", `tenant-b|${sign("tenant-a")}`],
    ["words", "tenant-a"],
  ];
}
