// Statements about accounts and their tokens. Web and worker only read them; accounts are made by whoever administers.
import { createHash, randomBytes } from "node:crypto";
import { fromPg } from "doorbell-jobs";
import type { Selectable } from "kysely";
import type { ClientBase } from "pg";
import { type Db, onTransaction } from "./database.ts";
import type { InvoicesSchema } from "./schema.ts";

export type Account = Selectable<InvoicesSchema["invoices.accounts"]>;

/**
 * Under the clamp: the account itself. Throws when there is none, which its own job cannot mend by trying again soon.
 */
export async function requireAccount(db: Db, account: string): Promise<Account> {
  return await db
    .selectFrom("invoices.accounts")
    .selectAll()
    .where("account_id", "=", account)
    .executeTakeFirstOrThrow(() => new Error(`there is no account ${account}`));
}

/** Under the clamp: the hashes of the account's tokens. */
export async function tokenHashes(db: Db, account: string): Promise<readonly Buffer[]> {
  const rows = await db
    .selectFrom("invoices.tokens")
    .select("token_sha256")
    .where("account_id", "=", account)
    .execute();
  return rows.map((row) => row.token_sha256);
}

export type NewAccount = Pick<Account, "account_id" | "name" | "contact_email" | "webhook_url" | "webhook_secret">;

/**
 * Makes an account and gives its one token, which is stored as a hash only. For whoever administers: the client's login
 * must be able to become invoices_owner. Throws what Postgres throws, after a rollback.
 */
export async function createAccount(client: ClientBase, account: NewAccount): Promise<string> {
  const { account_id: id } = account;
  const token = makeToken(id);
  const db = onTransaction(fromPg(client));
  await client.query("begin");
  try {
    await client.query("set local role invoices_owner");
    await client.query("select set_config('invoices.account_id', $1, true)", [id]);
    await db.insertInto("invoices.accounts").values(account).execute();
    await db
      .insertInto("invoices.tokens")
      .values({ account_id: id, token_sha256: hashToken(token) })
      .execute();
    await client.query("commit");
    return token;
  } catch (error) {
    await client.query("rollback");
    throw error;
  }
}

/** A token names its account, so that looking it up needs no view over all accounts. */
function makeToken(account: string): string {
  return `inv_${account}_${randomBytes(32).toString("base64url")}`;
}

/** The account that a token claims to be of; null for what is no token. Proves nothing. */
export function accountOfToken(token: string): string | null {
  return /^inv_([a-z0-9][a-z0-9-]{0,39})_[A-Za-z0-9_-]{43}$/.exec(token)?.[1] ?? null;
}

export function hashToken(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
