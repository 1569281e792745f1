// Tests that speak SQL to the functions, as a login that holds worker and web.
import pg from "pg";
import { createTestDatabase, type TestDatabase } from "../../src/testing/database.ts";

export type Row = Record<string, unknown>;

/** A connection to a test's database, and the few statements that all of these tests need. */
export class Sql implements AsyncDisposable {
  readonly db: TestDatabase;
  readonly #clients: pg.Client[] = [];

  constructor(db: TestDatabase) {
    this.db = db;
  }

  static async open(): Promise<Sql> {
    return new Sql(await createTestDatabase());
  }

  async connect(url: string = this.db.appUrl): Promise<pg.Client> {
    const client = new pg.Client(url);
    client.on("error", () => {});
    await client.connect();
    this.#clients.push(client);
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.end().catch(() => {})));
    await this.db.drop();
  }
}

export async function rows<R extends Row = Row>(
  client: pg.Client,
  text: string,
  params: readonly unknown[] = [],
): Promise<R[]> {
  return (await client.query<R>(text, [...params])).rows;
}

/** SQLSTATE of the failure, or null if there was none. The transaction, if any, goes on. */
export async function sqlStateOf(
  client: pg.Client,
  text: string,
  params: readonly unknown[] = [],
): Promise<string | null> {
  const inTransaction = client.getTransactionStatus() !== "I";
  if (inTransaction) await client.query("savepoint attempt");
  try {
    await client.query(text, [...params]);
    if (inTransaction) await client.query("release savepoint attempt");
    return null;
  } catch (error) {
    if (inTransaction) await client.query("rollback to savepoint attempt");
    return (error as { code: string }).code;
  }
}

export async function enqueue(client: pg.Client, tenant: string, kind = "work"): Promise<string> {
  const [row] = await rows<{ job_id: string }>(client, "select job_id from doorbell.enqueue($1, $2)", [tenant, kind]);
  return (row as { job_id: string }).job_id;
}

export interface Claimed extends Row {
  readonly what: string;
  readonly tenant_id: string;
  readonly id: string;
  readonly attempt: number;
}

/** Claims what these doorbells name; only the jobs that were claimed. */
export async function claim(
  client: pg.Client,
  worker: string,
  bells: readonly (readonly [string, string])[],
  leaseMs = 30_000,
): Promise<Claimed[]> {
  const claimed = await rows<Claimed>(client, "select * from doorbell.claim($1, $2, $3, array['work'], $4)", [
    worker,
    bells.map(([tenant]) => tenant),
    bells.map(([, id]) => id),
    leaseMs,
  ]);
  return claimed.filter((row) => row.what === "claimed");
}

/** The ids that were settled. */
export async function settle(
  client: pg.Client,
  worker: string,
  attempts: readonly {
    readonly tenant: string;
    readonly id: string;
    readonly attempt: number;
    readonly outcome?: string;
    readonly delayMs?: number;
  }[],
): Promise<string[]> {
  const settled = await rows<{ id: string }>(client, "select id from doorbell.settle($1, $2, $3, $4, $5, $6)", [
    worker,
    attempts.map((one) => one.tenant),
    attempts.map((one) => one.id),
    attempts.map((one) => one.attempt),
    attempts.map((one) => one.outcome ?? "done"),
    attempts.map((one) => one.delayMs ?? 0),
  ]);
  return settled.map((row) => row.id);
}

export function shuffled<T>(items: readonly T[]): T[] {
  const copy = [...items];
  for (let i = copy.length - 1; i > 0; i -= 1) {
    const j = Math.floor(Math.random() * (i + 1));
    [copy[i], copy[j]] = [copy[j] as T, copy[i] as T];
  }
  return copy;
}
