// The caller's own transaction, on the caller's own client. One structural seam, no dependency: whatever can run a
// statement with $1 … $n can enqueue.
import { asOperatingError, type Tx } from "../store/database.ts";

export type { Tx };

/** As much of a `pg` Client or PoolClient as is needed. */
export interface PgClient {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

/** A transaction, or a plain connection, of node-postgres. Give it a client, not a pool: a pool may use another each time. */
export function fromPg(client: PgClient): Tx {
  return {
    query: async <Row>(text: string, params: readonly unknown[] = []) => {
      try {
        return (await client.query(text, [...params])).rows as Row[];
      } catch (error) {
        throw asOperatingError(error);
      }
    },
  };
}
