// What a process of the application holds beside Doorbell: its own pool, and what its environment says.
import type { Doorbell, Log, Runtime } from "doorbell-jobs";
import { closeParserChildren } from "./documents/extract-document.ts";
import { type Db, openDatabase } from "./store/database.ts";

export interface Resources {
  readonly doorbell: Doorbell;
  readonly log: Log;
  readonly db: Db;
  /** The sender of e-mails. */
  readonly mailFrom: string;
}

/** Reads DATABASE_URL and INVOICES_MAIL_FROM. Connects at the first use. Throws when DATABASE_URL is not set. */
export function openResources({ doorbell, env, log }: Pick<Runtime, "doorbell" | "env" | "log">): Resources {
  const url = env["DATABASE_URL"];
  if (url === undefined) throw new Error("DATABASE_URL is not set");
  return { doorbell, log, db: openDatabase(url), mailFrom: env["INVOICES_MAIL_FROM"] ?? "invoices@localhost.invalid" };
}

export async function closeResources({ db }: Resources): Promise<void> {
  closeParserChildren();
  await db.destroy();
}
