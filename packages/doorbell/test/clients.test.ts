// Enqueue in a transaction of each client that people use: the real library, on a real Postgres. Prisma's engine is not
// on npm, so its interface stands on node-postgres here.

import { drizzle as drizzleOverPg } from "drizzle-orm/node-postgres";
import { drizzle as drizzleOverPostgresJs } from "drizzle-orm/postgres-js";
import knex from "knex";
import { CamelCasePlugin, Kysely, sql as kyselySql, PostgresDialect } from "kysely";
import pg from "pg";
import postgres from "postgres";
import { DataSource } from "typeorm";
import { expect, test } from "vitest";
import {
  defineJob,
  fromDrizzle,
  fromKnex,
  fromKysely,
  fromPg,
  fromPostgresJs,
  fromPrisma,
  fromTypeOrm,
  handle,
  type Tx,
} from "../src/index.ts";
import { eventually, Stage } from "./support.ts";

/** A transaction of one client, and a savepoint in it that is rolled back when its function throws. */
interface Scope {
  readonly tx: Tx;
  nested(fn: (tx: Tx) => Promise<void>): Promise<void>;
}

interface Subject extends AsyncDisposable {
  /** Commits when fn resolves, and rolls back when it rejects. */
  transaction(fn: (scope: Scope) => Promise<void>): Promise<void>;
}

async function throughPg(url: string, txOf: (client: pg.Client) => Tx): Promise<Subject> {
  const client = new pg.Client(url);
  await client.connect();
  const within = async (begin: string, commit: string, rollback: string, fn: () => Promise<void>): Promise<void> => {
    await client.query(begin);
    try {
      await fn();
      await client.query(commit);
    } catch (error) {
      await client.query(rollback);
      throw error;
    }
  };
  const tx = txOf(client);
  const nested: Scope["nested"] = (fn) => within("savepoint s", "release s", "rollback to s", () => fn(tx));
  return {
    transaction: (fn) => within("begin", "commit", "rollback", () => fn({ tx, nested })),
    [Symbol.asyncDispose]: () => client.end(),
  };
}

const subjects: Readonly<Record<string, (url: string) => Promise<Subject> | Subject>> = {
  pg: (url) => throughPg(url, fromPg),

  Prisma: (url) =>
    throughPg(url, (client) =>
      fromPrisma({ $queryRawUnsafe: async (text, ...values) => (await client.query(text, values)).rows }),
    ),

  "postgres.js": (url) => {
    const sql = postgres(url, { max: 1, onnotice: () => {} });
    return {
      transaction: async (fn) => {
        await sql.begin((tx) =>
          fn({ tx: fromPostgresJs(tx), nested: (inner) => tx.savepoint((sp) => inner(fromPostgresJs(sp))) }),
        );
      },
      [Symbol.asyncDispose]: () => sql.end(),
    };
  },

  "Kysely, with camelCase": (url) => {
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    const db = new Kysely<Record<string, never>>({
      dialect: new PostgresDialect({ pool }),
      plugins: [new CamelCasePlugin()],
    });
    return {
      transaction: (fn) =>
        db.transaction().execute((trx) => {
          const nested: Scope["nested"] = async (inner) => {
            await kyselySql`savepoint s`.execute(trx);
            try {
              await inner(fromKysely(trx));
            } catch (error) {
              await kyselySql`rollback to s`.execute(trx);
              throw error;
            }
          };
          return fn({ tx: fromKysely(trx), nested });
        }),
      [Symbol.asyncDispose]: () => db.destroy(),
    };
  },

  "Drizzle over pg": (url) => {
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    const db = drizzleOverPg(pool);
    return {
      transaction: (fn) =>
        db.transaction((tx) =>
          fn({ tx: fromDrizzle(tx), nested: (inner) => tx.transaction((sp) => inner(fromDrizzle(sp))) }),
        ),
      [Symbol.asyncDispose]: () => pool.end(),
    };
  },

  "Drizzle over postgres.js": (url) => {
    const sql = postgres(url, { max: 1, onnotice: () => {} });
    const db = drizzleOverPostgresJs(sql);
    return {
      transaction: (fn) =>
        db.transaction((tx) =>
          fn({ tx: fromDrizzle(tx), nested: (inner) => tx.transaction((sp) => inner(fromDrizzle(sp))) }),
        ),
      [Symbol.asyncDispose]: () => sql.end(),
    };
  },

  Knex: (url) => {
    const db = knex({ client: "pg", connection: url, pool: { min: 0, max: 1 } });
    return {
      transaction: (fn) =>
        db.transaction((trx) =>
          fn({ tx: fromKnex(trx), nested: (inner) => trx.transaction((sp) => inner(fromKnex(sp))) }),
        ),
      [Symbol.asyncDispose]: () => db.destroy(),
    };
  },

  TypeORM: async (url) => {
    const source = await new DataSource({ type: "postgres", url, extra: { max: 1 } }).initialize();
    return {
      transaction: (fn) =>
        source.transaction((manager) =>
          fn({
            tx: fromTypeOrm(manager),
            nested: (inner) => manager.transaction((sp) => inner(fromTypeOrm(sp))),
          }),
        ),
      [Symbol.asyncDispose]: () => source.destroy(),
    };
  },
};

const greet = defineJob({ kind: "greet" });
const undo = new Error("undo");
const undone = (error: unknown): void => expect(error).toBe(undo);

test.each(Object.keys(subjects))(
  "%s: a commit runs the job, a rollback leaves nothing, of a savepoint nothing of it, and a duplicate leaves the rest alone",
  async (name) => {
    await using stage = await Stage.open();
    await stage.db.query("create table public.business (n int); grant all on public.business to producer");
    const doorbell = await stage.client();
    const started = new Set<string>();
    await stage.worker(doorbell, [handle(greet, (job) => void started.add(job.id))]);
    await using client = await (subjects[name] as (url: string) => Subject)(stage.db.producerUrl);
    const enqueue = (tx: Tx, key: string): Promise<{ readonly id: string; readonly created: boolean }> =>
      doorbell.enqueue(greet, { key }, { tenant: "acme", tx, idempotencyKey: key, objectKey: "a/b?c" });

    const kept: string[] = [];
    await client.transaction(async ({ tx, nested }) => {
      await tx.query("insert into public.business values ($1)", [1]);
      kept.push((await enqueue(tx, "kept")).id);
      await nested(async (inner) => {
        await enqueue(inner, "undone");
        throw undo;
      }).catch(undone);
      const again = await enqueue(tx, "kept");
      expect(again).toMatchObject({ id: kept[0], created: false });
      const many = await doorbell.enqueueMany([{ job: greet, tenant: "acme" }], { tx });
      kept.push(...many.map(({ id }) => id));
    });
    await client
      .transaction(async ({ tx }) => {
        await tx.query("insert into public.business values ($1)", [2]);
        await enqueue(tx, "rolled back");
        throw undo;
      })
      .catch(undone);

    await eventually("both jobs to run", () => kept.every((id) => started.has(id)));
    expect(await stage.db.query("select id from doorbell.all_jobs order by id")).toEqual(
      kept.toSorted().map((id) => ({ id })),
    );
    expect(await stage.db.query("select n from public.business")).toEqual([{ n: 1 }]);
    expect(started.size).toBe(2);
  },
);

test.each(Object.keys(subjects))("%s: what Postgres refuses has our code, whoever wrapped it", async (name) => {
  await using stage = await Stage.open();
  const doorbell = await stage.client({ databaseUrl: stage.db.producerUrl });
  const nowhere = defineJob({ kind: "greet", lane: "nowhere" });
  await using client = await (subjects[name] as (url: string) => Subject)(stage.db.producerUrl);
  const refused = client.transaction(async ({ tx }) => {
    await doorbell.enqueue(nowhere, {}, { tenant: "acme", tx });
  });
  await expect(refused).rejects.toMatchObject({ code: "lane_unknown" });
});
