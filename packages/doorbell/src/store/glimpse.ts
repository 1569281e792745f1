// Whether a table shows anything to whoever is connected. One row is enough: nothing is counted, and nothing is changed.
import type { Tx } from "./database.ts";

/** Readies a transaction for glimpses: nothing can be written in it, and none of its statements takes longer than 5 s. */
export async function onlyLook(tx: Tx): Promise<void> {
  await tx.query("select set_config('transaction_read_only', 'on', true), set_config('statement_timeout', '5s', true)");
}

/** `table`: as it is written in SQL. */
export async function showsRows(tx: Tx, table: string): Promise<boolean> {
  const [answer] = await tx.query<{ shown: boolean }>(`select exists (select from ${table}) as shown`);
  return answer?.shown ?? false;
}
