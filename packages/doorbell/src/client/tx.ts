// The caller's own transaction, on the caller's own client. One structural seam and no dependency: whatever can run a
// statement with $1 … $n can enqueue. Give these functions the handle of a transaction, not a pool: a pool may take another
// connection for each statement, and outside of a transaction an enqueue commits by itself.
//
// An error that tells us nothing passes as the client threw it, so that a caller's own retry on 40001 still recognises it.
import { asOperatingError, type Tx } from "../store/database.ts";

export type { Tx };

/** As much of a `pg` Client or PoolClient as is needed. */
export interface PgClient {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

/** node-postgres. */
export function fromPg(client: PgClient): Tx {
  return txOf(async (text, params) => (await client.query(text, params)).rows);
}

/** As much of a postgres.js `sql` as is needed: in a transaction, the one that `sql.begin` hands out. */
export interface PostgresJsSql {
  unsafe(text: string, params: never[]): PromiseLike<readonly unknown[]>;
}

/** postgres.js. */
export function fromPostgresJs(sql: PostgresJsSql): Tx {
  return txOf((text, params) => sql.unsafe(text, params as never[]));
}

/** As much of a Kysely `Transaction` (or `ControlledTransaction`) as is needed. */
export interface KyselyTransaction {
  executeQuery(query: never): Promise<{ rows: unknown[] }>;
}

/** Kysely, with whatever plugins: no name that we ask for has an underscore to turn into camelCase. */
export function fromKysely(trx: KyselyTransaction): Tx {
  return txOf(async (text, params) => {
    // What CompiledQuery.raw of Kysely makes.
    const query = { kind: "RawNode", sqlFragments: [text], parameters: [] };
    const compiled = { sql: text, parameters: params, query, queryId: { queryId: "doorbell" } };
    return (await trx.executeQuery(compiled as never)).rows;
  });
}

/** As much of a Drizzle transaction (`PgTransaction`, over node-postgres or postgres.js) as is needed. */
export interface DrizzleTransaction {
  execute(query: never): PromiseLike<unknown>;
}

/** Drizzle. */
export function fromDrizzle(tx: DrizzleTransaction): Tx {
  return txOf(async (text, params) => {
    // An SQLWrapper whose SQL is written already.
    const wrapper = { getSQL: () => ({ toQuery: () => ({ sql: text, params }) }) };
    return rowsOf(await tx.execute(wrapper as never));
  });
}

/** As much of a Knex `Transaction` as is needed. */
export interface KnexTransaction {
  raw(text: string, bindings: never): PromiseLike<unknown>;
}

/** Knex. */
export function fromKnex(trx: KnexTransaction): Tx {
  return txOf(async (text, params) => {
    const bindings: unknown[] = [];
    const withQuestionMarks = text.replace(/\$(\d+)/g, (_, n: string) => {
      bindings.push(params[Number(n) - 1]);
      return "?";
    });
    return rowsOf(await trx.raw(withQuestionMarks, bindings as never));
  });
}

/** As much of a TypeORM `EntityManager` or `QueryRunner` as is needed: the one of the transaction. */
export interface TypeOrmManager {
  query(text: string, params?: unknown[]): Promise<unknown>;
}

/** TypeORM. */
export function fromTypeOrm(manager: TypeOrmManager): Tx {
  return txOf(async (text, params) => rowsOf(await manager.query(text, params)));
}

/** As much of Prisma's interactive transaction client as is needed. */
export interface PrismaTransaction {
  $queryRawUnsafe(text: string, ...values: never[]): PromiseLike<unknown>;
}

/** Prisma. Tested against its interface, not against its engine, which cannot be had from npm alone. */
export function fromPrisma(tx: PrismaTransaction): Tx {
  return txOf(async (text, params) => rowsOf(await tx.$queryRawUnsafe(text, ...(params as never[]))));
}

function txOf(run: (text: string, params: unknown[]) => PromiseLike<readonly unknown[]>): Tx {
  return {
    query: async <Row>(text: string, params: readonly unknown[] = []) => {
      try {
        return (await run(text, [...params])) as readonly Row[];
      } catch (error) {
        throw asOperatingError(error);
      }
    },
  };
}

/** An array of rows, or an object that has one: clients differ, and Drizzle passes on what the client below it gave. */
function rowsOf(answer: unknown): readonly unknown[] {
  if (Array.isArray(answer)) return answer;
  return (answer as { readonly rows: readonly unknown[] }).rows;
}
