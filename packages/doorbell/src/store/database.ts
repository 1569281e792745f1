// The connection to Postgres: one pool a purpose, and what it means when it fails. Nothing outside store/ talks SQL of
// ours. No session state is ever set, so that everything works through a pooler in transaction mode.
import pg from "pg";
import { DoorbellError } from "../core/errors.ts";
import { describeFailure } from "../core/failure.ts";
import { asIfOurs, ourRoleNames, type RoleNames } from "./role-names.ts";

/** The one seam to any client: text with $1 … $n, scalars as parameters. Rows come back as objects. */
export interface Tx {
  query<Row = Record<string, unknown>>(text: string, params?: readonly unknown[]): Promise<readonly Row[]>;
}

export interface DatabaseOptions {
  readonly url: string;
  /** Connections at most. */
  readonly max: number;
  /** Shown in pg_stat_activity. */
  readonly name: string;
  /** What its roles are called; statements say ours, and so do the rows that come back. Default: ours. */
  readonly roleNames?: RoleNames;
  /** A statement that has not answered for so long counts as lost, and its connection with it. Default: one minute. */
  readonly answerWithinMs?: number;
}

/** Numbers of rows and the like are bigint in SQL and safe integers here. */
const bigintOid = 20;
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary") =>
    oid === bigintOid ? Number : pg.types.getTypeParser(oid, format as "text")) as typeof pg.types.getTypeParser,
};

export class Database implements Tx {
  readonly #pool: pg.Pool;
  readonly #config: pg.PoolConfig;
  readonly #roleNames: RoleNames;
  readonly #tx: Tx;

  constructor(options: DatabaseOptions) {
    this.#roleNames = options.roleNames ?? ourRoleNames;
    this.#config = {
      connectionString: options.url,
      max: options.max,
      application_name: options.name,
      connectionTimeoutMillis: 10_000,
      idleTimeoutMillis: 30_000,
      query_timeout: options.answerWithinMs ?? 60_000,
      keepAlive: true,
      types,
    };
    this.#pool = new pg.Pool(this.#config);
    // Without a listener, an idle connection that the server closes would end the process.
    this.#pool.on("error", () => {});
    this.#tx = this.#over(this.#pool);
  }

  async query<Row>(text: string, params: readonly unknown[] = []): Promise<readonly Row[]> {
    return await this.#tx.query<Row>(text, params);
  }

  #over(client: pg.Pool | pg.PoolClient): Tx {
    const tx: Tx = {
      query: async (text, params = []) => {
        try {
          return (await client.query(text, params as unknown[])).rows;
        } catch (error) {
          throw asOperatingError(error);
        }
      },
    };
    return asIfOurs(tx, this.#roleNames);
  }

  /** A connection outside the pool, for one owner who uses it alone. Ends with `end()`. */
  async connect(): Promise<pg.Client> {
    const client = new pg.Client(this.#config);
    client.on("error", () => {});
    try {
      await client.connect();
      return client;
    } catch (error) {
      throw asOperatingError(error);
    }
  }

  /**
   * Runs fn in a transaction, alone on its connection. The handle dies at the end: a query that was not awaited is refused,
   * not run in somebody else's transaction. Throws transaction_rolled_back when Postgres answered COMMIT with ROLLBACK,
   * commit_unknown when the connection went while committing (the work may or may not be there: send it again with the
   * same id or key), and whatever fn throws, after a rollback.
   */
  async transaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw asOperatingError(error);
    });
    let alive = true;
    let broken: Error | undefined;
    const over = this.#over(client);
    const tx: Tx = {
      query: async (text, params) => {
        if (!alive)
          throw new DoorbellError("closed", "this transaction has ended; a query came after it (a missing await?)");
        return await over.query(text, params);
      },
    };
    try {
      await tx.query("begin");
      let result: T;
      try {
        result = await fn(tx);
      } catch (error) {
        alive = false;
        await client.query("rollback").catch((failure: Error) => {
          broken = failure;
        });
        throw error;
      }
      alive = false;
      await commit(client);
      return result;
    } catch (error) {
      if (isDatabaseTrouble(error)) broken = error as Error;
      throw error;
    } finally {
      alive = false;
      client.release(broken ?? client.getTransactionStatus() !== "I");
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

async function commit(client: pg.PoolClient): Promise<void> {
  let tag: string;
  try {
    tag = (await client.query("commit")).command;
  } catch (error) {
    if (isConnectionTrouble(error)) {
      throw new DoorbellError(
        "commit_unknown",
        "the connection was lost while committing: the transaction may or may not have committed",
        {
          cause: error,
        },
      );
    }
    throw asOperatingError(error);
  }
  if (tag === "ROLLBACK") {
    throw new DoorbellError(
      "transaction_rolled_back",
      "the transaction did not commit: a statement in it had failed, and its error was swallowed",
    );
  }
}

/**
 * Where a client of this URL would connect to, the defaults of the environment (PGHOST) included: a host name, an address,
 * or the directory of a socket. Null: it cannot be told.
 */
export function databaseHost(url: string): string | null {
  try {
    return new pg.Client({ connectionString: url }).host;
  } catch {
    return null;
  }
}

/** Whether a client of this URL insists on TLS; ours never goes on without where it was asked for. PGSSLMODE counts too. */
export function databaseEncrypts(url: string): boolean {
  try {
    return Boolean(new pg.Client({ connectionString: url }).ssl);
  } catch {
    return false;
  }
}

/** How deep clients wrap what Postgres said. */
const wrapsMax = 4;

/** SQLSTATE, also of an error that a client has wrapped (`cause`: Drizzle; `meta`: Prisma, whose own codes look alike); else "". */
function sqlState(error: unknown): string {
  let one = error as { code?: unknown; cause?: unknown; meta?: { code?: unknown } } | null | undefined;
  for (let depth = 0; depth < wrapsMax && typeof one === "object" && one !== null; depth += 1) {
    const code = one.meta?.code ?? one.code;
    if (typeof code === "string" && /^[0-9A-Z]{5}$/.test(code)) return code;
    one = one.cause as typeof one;
  }
  return "";
}

const ours = "doorbell: ";

/** What our functions raised: alone in pg's message, behind the statement in Knex's, in the cause's in Drizzle's. */
function raisedText(error: unknown): string | null {
  let one: unknown = error;
  for (let depth = 0; depth < wrapsMax && one instanceof Error; depth += 1) {
    const start = one.message.indexOf(ours);
    if (start !== -1) return one.message.slice(start + ours.length);
    one = one.cause;
  }
  return null;
}

/** No answer, no connection, or a server that is going away or out of resources (08, 53, 57P0x). */
function isConnectionTrouble(error: unknown): boolean {
  if (DoorbellError.isInstance(error, "database_unavailable")) return true;
  const state = sqlState(error);
  if (state !== "") return state.startsWith("08") || state.startsWith("53") || state.startsWith("57P");
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return (
    (typeof code === "string" && /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EHOST|ENET|EAI_)/.test(code)) ||
    (typeof message === "string" &&
      /^(Connection terminated|Client has encountered a connection error|Query read timeout|timeout exceeded when trying to connect)/i.test(
        message,
      ))
  );
}

/**
 * What is the database's fault and not the caller's: connection trouble, or a rollback that asks for a retry (40). Total.
 * A socket's error counts only where we have met it ourselves: thrown by a handler, it is the fault of whoever it called.
 */
export function isDatabaseTrouble(error: unknown): boolean {
  try {
    return (
      DoorbellError.isInstance(error, "database_unavailable") ||
      DoorbellError.isInstance(error, "serialization_failure") ||
      /^(08|40|53|57P)/.test(sqlState(error))
    );
  } catch {
    return false; // a thrown value that cannot even be looked at
  }
}

/** Whether a value in the statement was refused (22, or over a size: 54000): sent again, it would be again. Total. */
export function isValueRefused(error: unknown): boolean {
  try {
    return /^(22|54000)/.test(sqlState(error));
  } catch {
    return false;
  }
}

/**
 * Gives what Postgres or its client threw our code where we have one; the cause is kept, and so is SQLSTATE where a
 * caller may look for it. Everything else passes unchanged.
 */
export function asOperatingError(error: unknown): unknown {
  if (DoorbellError.isInstance(error)) return error;
  if (isConnectionTrouble(error))
    return new DoorbellError("database_unavailable", `postgres does not answer: ${describeFailure(error).message}`, {
      cause: error,
    });
  const text = raisedText(error);
  if (text === null) return error;
  const code = sqlState(error);
  if (code === "54000") return new DoorbellError("payload_too_large", text, { cause: error });
  if (code === "42501") return new DoorbellError("tenant_mismatch", text, { cause: error });
  if (text.startsWith("a tenant id")) return new DoorbellError("tenant_invalid", text, { cause: error });
  if (text.startsWith("there is no lane")) return new DoorbellError("lane_unknown", text, { cause: error });
  return new DoorbellError("option_invalid", text, { cause: error });
}
