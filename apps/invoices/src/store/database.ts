// Kysely, on the application's own connections and on a transaction that Doorbell has opened; and Doorbell's seam on a
// transaction of Kysely's. Here the two meet, and nothing else is here.
import type { Doorbell, Tx } from "doorbell-jobs";
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresDialect,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from "kysely";
import pg from "pg";
import type { InvoicesSchema } from "./schema.ts";

/** Statements run on it see the rows of the account that its transaction is clamped to, and none without a clamp. */
export type Db = Kysely<InvoicesSchema>;

const dateOid = 1082;
/** A day stays the text that it is: as a Date it would be midnight in whatever zone the process runs in. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary") =>
    oid === dateOid ? String : pg.types.getTypeParser(oid, format as "text")) as typeof pg.types.getTypeParser,
};

/** The application's own pool. It connects at the first query; end it with `destroy()`. */
export function openDatabase(url: string): Db {
  const pool = new pg.Pool({
    connectionString: url,
    max: 10,
    application_name: "invoices",
    // A request is answered, if only with an error, when Postgres is not.
    connectionTimeoutMillis: 5_000,
    query_timeout: 30_000,
    types,
  });
  // Without a listener, an idle connection that the server closes would end the process.
  pool.on("error", () => {});
  return new Kysely<InvoicesSchema>({ dialect: new PostgresDialect({ pool }) });
}

/** Runs fn in a transaction of ours, clamped to the account: Doorbell's setting and the application's. */
export async function asAccount<T>(
  { db, doorbell }: { readonly db: Db; readonly doorbell: Doorbell },
  account: string,
  fn: (db: Db, tx: Tx) => Promise<T>,
): Promise<T> {
  return await db.transaction().execute(async (trx) => {
    const tx = fromKysely(trx);
    await doorbell.clamp(tx, account);
    return await fn(trx, tx);
  });
}

/** A transaction of Kysely's as Doorbell takes it. */
function fromKysely(trx: Db): Tx {
  return {
    query: async <Row>(text: string, params: readonly unknown[] = []) =>
      (await trx.executeQuery(CompiledQuery.raw(text, [...params]))).rows as Row[],
  };
}

/**
 * Kysely on a transaction that is open already, such as the one of `job.transaction`. It can neither begin nor end one.
 */
export function onTransaction(tx: Tx): Db {
  const dialect: Dialect = {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => openTransactionDriver(tx),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  };
  return new Kysely<InvoicesSchema>({ dialect });
}

function openTransactionDriver(tx: Tx): Driver {
  const connection: DatabaseConnection = {
    executeQuery: async <Row>({ sql, parameters }: CompiledQuery) => ({
      rows: [...(await tx.query<Row>(sql, parameters))],
    }),
    streamQuery: () => {
      throw new Error("a transaction of Doorbell's does not stream");
    },
  };
  const refuse = async (): Promise<never> => {
    throw new Error("this transaction is Doorbell's to begin and to end");
  };
  return {
    init: async () => {},
    acquireConnection: async () => connection,
    releaseConnection: async () => {},
    beginTransaction: refuse,
    commitTransaction: refuse,
    rollbackTransaction: refuse,
    destroy: async () => {},
  };
}
