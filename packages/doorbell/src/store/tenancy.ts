// How a transaction is told whose it is: the clamp. Plain, it is a setting that whoever can run SQL can set as well. Signed,
// it counts only with a token that the database verifies (sql/migrations/0001_tables.sql), so that SQL which somebody
// injects into a transaction cannot move it to another tenant: it would have to sign.
import { createHash, createHmac } from "node:crypto";
import { DoorbellError } from "../core/errors.ts";
import type { Database, Tx } from "./database.ts";

export interface Tenancy {
  /** The setting that the application's own policies read, clamped together with ours. Null: none. */
  readonly setting: string | null;
  /** A token for this tenant, or for `everyTenant`, good from now on for its lifetime. Null: tenancy is plain. */
  readonly sign: ((tenant: string) => string) | null;
}

export interface TenancyOptions {
  /**
   * "plain" (default): the clamp is a setting. "signed": it counts only with a token that the database verifies, signed with
   * the first of `tenancySecrets`. See docs/tenancy.md.
   */
  readonly tenancy?: "plain" | "signed";
  /** At least 32 characters each; the same that `doorbell migrate` was given. */
  readonly tenancySecrets?: readonly string[];
  /** How long a token is good for, by the clock of the database. Default five minutes. */
  readonly tenancyTokenMs?: number;
}

const defaultTokenMs = 300_000;

/** A secret of fewer characters could be guessed: whoever reads one token may try all. */
export const tenancySecretMinLength = 32;

export const ourSetting = "doorbell.tenant_id";

/** For whom a token serves that serves all: what several tenants at once, or none, need. */
export const everyTenant = "*";

/** Throws option_invalid where tenancy is to be signed, and there is no secret to sign with. */
export function tenancyOf(setting: string | null, options: TenancyOptions = {}): Tenancy {
  const { tenancy = "plain", tenancySecrets = [], tenancyTokenMs = defaultTokenMs } = options;
  if (tenancy === "plain") return { setting, sign: null };
  const [secret] = tenancySecrets;
  if (secret === undefined || tenancySecrets.some((one) => one.length < tenancySecretMinLength)) {
    throw new DoorbellError(
      "option_invalid",
      `signed tenancy wants a secret of at least ${tenancySecretMinLength} characters (tenancySecrets, DOORBELL_TENANCY_SECRETS)`,
    );
  }
  const key = tokenKey(secret);
  return {
    setting,
    sign: (tenant) => {
      const claim = `${tenant}|${Date.now() + tenancyTokenMs}`;
      return `${claim}|${createHmac("sha256", key).update(claim).digest("hex")}`;
    },
  };
}

/** What the database is to accept: nothing where tenancy is plain. */
export function tokenKeys({ tenancy, tenancySecrets = [] }: TenancyOptions): readonly Buffer[] {
  return tenancy === "signed" ? tenancySecrets.map(tokenKey) : [];
}

/** What the database is given of a secret: enough to verify and, as with any HMAC, to sign. 32 bytes. */
function tokenKey(secret: string): Buffer {
  return createHash("sha256").update(`doorbell token\n${secret}`).digest();
}

/** Clamps a transaction until it ends: our setting, the application's own, and the token. */
export async function clamp(tx: Tx, tenant: string, { setting, sign }: Tenancy): Promise<void> {
  const settings: [name: string, value: string][] = [[ourSetting, tenant]];
  if (setting !== null) settings.push([setting, tenant]);
  if (sign !== null) settings.push(["doorbell.token", sign(tenant)]);
  const calls = settings.map((_, index) => `set_config($${2 * index + 1}, $${2 * index + 2}, true)`);
  await tx.query(`select ${calls.join(", ")}`, settings.flat());
}

/** Runs what serves all tenants: alone where tenancy is plain, else in a transaction with a token that says so. */
export async function forEveryTenant<T>(
  database: Database,
  { sign }: Tenancy,
  run: (tx: Tx) => Promise<T>,
): Promise<T> {
  if (sign === null) return await run(database);
  return await database.transaction(async (tx) => {
    await tx.query("select set_config('doorbell.token', $1, true)", [sign(everyTenant)]);
    return await run(tx);
  });
}
