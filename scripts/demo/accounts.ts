// The three accounts of a run, each with a token. On a database that has accounts from a run before, they are new ones.
import { type SampleAccount, sampleAccounts } from "../../apps/invoices/samples/bill.ts";
import { createAccount } from "../../apps/invoices/src/store/accounts.ts";
import type { AdminClient } from "../../apps/invoices/src/store/admin.ts";

export interface DemoAccount {
  /** The sample account that it stands for. */
  readonly sampleAccount: SampleAccount;
  readonly id: string;
  readonly token: string;
}

const uniqueViolation = "23505";

/** Where an account's e-mails go. */
export function contactOf(account: string): string {
  return `accounting@${account}.example`;
}

export async function openAccounts(
  admin: AdminClient,
  webhookUrlOf: (account: string) => string,
): Promise<readonly DemoAccount[]> {
  const accounts: DemoAccount[] = [];
  for (const sampleAccount of sampleAccounts) {
    accounts.push({ sampleAccount, ...(await openAccount(admin, sampleAccount, webhookUrlOf)) });
  }
  return accounts;
}

async function openAccount(
  admin: AdminClient,
  name: string,
  webhookUrlOf: (account: string) => string,
): Promise<{ readonly id: string; readonly token: string }> {
  for (let run = 1; ; run += 1) {
    const id = run === 1 ? name : `${name}-${run}`;
    try {
      const token = await createAccount(admin, {
        account_id: id,
        name,
        contact_email: contactOf(id),
        webhook_url: webhookUrlOf(id),
        webhook_secret: null,
      });
      return { id, token };
    } catch (error) {
      if ((error as { code?: unknown }).code !== uniqueViolation) throw error;
    }
  }
}
