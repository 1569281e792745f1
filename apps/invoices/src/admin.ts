// What whoever administers the application asks for: to bring its schema up to date, and to make accounts. Web and worker
// have no part in it.
import { randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { createAccount } from "./store/accounts.ts";
import { withAdmin } from "./store/admin.ts";
import { migrateInvoices } from "./store/migrate.ts";

export const usage = `Usage: npm run admin -w apps/invoices -- COMMAND

  migrate                          brings the schema "invoices" up to date; doorbell migrate comes first
  add-account ID --email ADDRESS   makes an account, and prints its token, which is stored nowhere
    [--name NAME]
    [--webhook URL]                where it is told of its invoices; prints the secret that signs the requests

DATABASE_URL names the database, and a login that may create roles.
`;

/** It was asked for something that it does not know. */
export class UsageError extends Error {}

/** Resolves with what there is to say. Throws UsageError, and what Postgres throws. */
export async function administer(args: readonly string[], databaseUrl: string | undefined): Promise<string> {
  const { positionals, values } = parse(args);
  const url = required(databaseUrl, "DATABASE_URL");
  const [command, id, ...rest] = positionals;
  if (command === "migrate" && id === undefined) {
    const applied = await withAdmin(url, migrateInvoices);
    return applied.length === 0 ? "up to date" : `applied ${applied.join(", ")}`;
  }
  if (command === "add-account" && id !== undefined && rest.length === 0) {
    const account = {
      account_id: id,
      name: values.name ?? id,
      contact_email: required(values.email, "--email"),
      webhook_url: values.webhook ?? null,
      webhook_secret: values.webhook === undefined ? null : makeSecret(),
    };
    const token = await withAdmin(url, (admin) => createAccount(admin, account));
    const { webhook_secret: secret } = account;
    return secret === null ? `token   ${token}` : `token   ${token}\nsecret  ${secret}`;
  }
  throw new UsageError(command === undefined ? "no command was given" : `not a command: ${positionals.join(" ")}`);
}

function parse(args: readonly string[]) {
  const text = { type: "string" } as const;
  try {
    const options = { email: text, name: text, webhook: text };
    return parseArgs({ args: [...args], allowPositionals: true, options });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** As Standard Webhooks has it. */
function makeSecret(): string {
  return `whsec_${randomBytes(32).toString("base64")}`;
}

function required(value: string | undefined, name: string): string {
  if (value === undefined || value === "") throw new UsageError(`${name} is missing`);
  return value;
}

/** What the database refuses, in words that whoever typed it can act upon. */
export function explain(error: unknown): string {
  const { constraint, message = String(error) } = error as { readonly constraint?: string; readonly message?: string };
  if (constraint === "accounts_pkey") return "there is an account of this id already";
  if (constraint === "accounts_account_id_check")
    return "an account's id is made of a-z, 0-9 and -, at most 40 of them";
  return message;
}
