// What whoever administers the application does from a terminal: brings its schema up to date, and makes accounts. Web and
// worker have no part in it.
import { parseArgs } from "node:util";
import { createAccount } from "./store/accounts.ts";
import { withAdmin } from "./store/admin.ts";
import { migrateInvoices } from "./store/migrate.ts";

const usage = `Usage: npm run admin -w apps/invoices -- COMMAND

  migrate                                      brings the schema "invoices" up to date; after doorbell migrate
  add-account ID --email ADDRESS               makes an account, and prints its token, which is shown only this once
    [--name NAME] [--webhook URL] [--secret whsec_…]

DATABASE_URL names the database, and a login that may create roles.
`;

const exitUsage = 2;

class UsageError extends Error {}

async function main(args: readonly string[]): Promise<void> {
  const { positionals, values } = parse(args);
  const url = process.env["DATABASE_URL"];
  const [command, id, ...rest] = positionals;
  if (command === "migrate" && id === undefined) {
    const applied = await withAdmin(required(url, "DATABASE_URL"), migrateInvoices);
    console.log(applied.length === 0 ? "up to date" : `applied ${applied.join(", ")}`);
  } else if (command === "add-account" && id !== undefined && rest.length === 0) {
    const account = {
      account_id: id,
      name: values.name ?? id,
      contact_email: required(values.email, "--email"),
      webhook_url: values.webhook ?? null,
      webhook_secret: values.secret ?? null,
    };
    console.log(await withAdmin(required(url, "DATABASE_URL"), (admin) => createAccount(admin, account)));
  } else {
    throw new UsageError(command === undefined ? "no command was given" : `not a command: ${positionals.join(" ")}`);
  }
}

function parse(args: readonly string[]) {
  const text = { type: "string" } as const;
  try {
    const options = { email: text, name: text, webhook: text, secret: text };
    return parseArgs({ args: [...args], allowPositionals: true, options });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function required(value: string | undefined, name: string): string {
  if (value === undefined || value === "") throw new UsageError(`${name} is missing`);
  return value;
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  const isUsage = error instanceof UsageError;
  console.error(error instanceof Error ? error.message : error);
  if (isUsage) console.error(`\n${usage}`);
  process.exitCode = isUsage ? exitUsage : 1;
}
