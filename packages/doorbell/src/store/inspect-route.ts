// What the way to Postgres does to a transaction, tried on a connection of its own. Nothing here judges.
import { describeFailure } from "../core/failure.ts";
import { asOperatingError, type Database } from "./database.ts";

export interface Route {
  /** Another than Postgres answers the connection: a pooler. */
  readonly pooled: boolean;
  /** Why a transaction of several statements is not one here. Null: it is. */
  readonly split: string | null;
}

/** What a pooler answers that does not take transactions: PgBouncer says it as a violation of the protocol. */
const refusedTransaction = "08P01";

/** Rejects when Postgres does not answer. */
export async function inspectRoute(database: Database): Promise<Route> {
  const client = await database.connect();
  try {
    await client.query("begin");
    const { rows } = await client.query<{ pid: number; marked: string }>(
      "select pg_backend_pid() as pid, set_config('doorbell.route', 'one', true) as marked",
    );
    const { rows: after } = await client.query<{ pid: number; marked: string | null }>(
      "select pg_backend_pid() as pid, current_setting('doorbell.route', true) as marked",
    );
    await client.query("rollback");
    const together = rows[0]?.pid === after[0]?.pid && after[0]?.marked === "one";
    // A pooler gives out process numbers of its own.
    const pooled = (client as { readonly processID?: unknown }).processID !== rows[0]?.pid;
    return { pooled, split: together ? null : "a setting of the first statement was gone in the second" };
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === refusedTransaction)
      return { pooled: true, split: describeFailure(error).message };
    throw asOperatingError(error);
  } finally {
    await client.end().catch(() => {});
  }
}
