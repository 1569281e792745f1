// The application's own tables under forced row-level security, by counts, and with a positive control each time.
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { withAdmin } from "../src/store/admin.ts";
import { migrateInvoices } from "../src/store/migrate.ts";
import { openStage, type Stage } from "./stage.ts";

const tables = ["accounts", "tokens", "documents", "extracted_invoices", "invoice_numbers"] as const;
type Table = (typeof tables)[number];

/** Two of A's, three of B's, in every table that may hold more than one. */
const counts = { a: 2, b: 3 } as const;
const rowsIn = (table: Table, account: keyof typeof counts) => (table === "accounts" ? 1 : counts[account]);

const insertsInto: Readonly<Record<Table, string>> = {
  accounts: "(account_id, name, contact_email) values ('c', 'c', 'c@example.com')",
  tokens: "(account_id, token_sha256) values ('a', sha256('new'))",
  documents:
    "(account_id, document_id, job_id, sha256, size_bytes) values ('a', gen_random_uuid(), gen_random_uuid(), repeat('f', 64), 1)",
  extracted_invoices:
    "(account_id, document_id, invoice, extractor_version) values ('a', gen_random_uuid(), '{}', '1')",
  invoice_numbers: "(account_id, seller_key, number, document_id) values ('a', '', 'new', gen_random_uuid())",
};

let stage: Stage;
let client: pg.Client;

beforeAll(async () => {
  stage = await openStage();
  client = new pg.Client(stage.db.adminUrl);
  await client.connect();
  // A role that may do everything, but is not above row-level security: grants are not what holds here.
  await client.query(`
    do $$ begin
      if not exists (select from pg_roles where rolname = 'invoices_everything') then
        create role invoices_everything nologin;
      end if;
    end $$;
    grant usage on schema invoices to invoices_everything;
    grant all on all tables in schema invoices to invoices_everything;
    insert into invoices.accounts (account_id, name, contact_email) values ('a', 'a', 'a@example.com'), ('b', 'b', 'b@example.com');
    create temporary table ids as
      select account_id, n, gen_random_uuid() as id, account_id || n as text
        from (values ('a', ${counts.a}), ('b', ${counts.b})) c(account_id, count), generate_series(1, count) n;
    insert into invoices.tokens select account_id, sha256(text::bytea) from ids;
    insert into invoices.documents (account_id, document_id, job_id, sha256, size_bytes)
      select account_id, id, id, encode(sha256(text::bytea), 'hex'), 1 from ids;
    insert into invoices.extracted_invoices (account_id, document_id, invoice, extractor_version)
      select account_id, id, '{}', '1' from ids;
    insert into invoices.invoice_numbers select account_id, '', text, id from ids;
  `);
});
afterAll(async () => {
  await client.end();
  await stage[Symbol.asyncDispose]();
});

/** Runs in a transaction that is rolled back, as a role and with the setting as given (null: never set). */
async function as<T>(role: string, account: string | null, run: () => Promise<T>): Promise<T> {
  await client.query("begin");
  try {
    await client.query(`set local role ${role}`);
    if (account !== null) await client.query("select set_config('invoices.account_id', $1, true)", [account]);
    return await run();
  } finally {
    await client.query("rollback");
  }
}

const count = async (sql: string): Promise<number> => (await client.query(sql)).rowCount ?? -1;
const errorCode = (run: Promise<unknown>): Promise<unknown> =>
  run.then(
    () => "no error",
    (error: { code?: string }) => error.code,
  );

/** The owner is bound by FORCE, the other by the policies alone. */
describe.each(["invoices_owner", "invoices_everything"])("as %s", (role) => {
  describe.each(tables)("%s", (table) => {
    test.each([
      ["no account", null],
      ["an empty account", ""],
      ["an account that is not there", "nobody"],
    ])("with %s shows, changes and takes nothing", async (_, account) => {
      await as(role, account, async () => {
        expect(await count(`select from invoices.${table}`)).toBe(0);
        expect(await count(`update invoices.${table} set account_id = account_id`)).toBe(0);
        expect(await count(`delete from invoices.${table}`)).toBe(0);
        expect(await errorCode(client.query(`insert into invoices.${table} ${insertsInto[table]}`))).toBe("42501");
      });
    });

    test.each(["a", "b"] as const)("with account %s shows its own rows, all of them and no other", async (account) => {
      const own = rowsIn(table, account);
      await as(role, account, async () => {
        expect(await count(`select from invoices.${table}`)).toBe(own);
        expect(await count(`select from invoices.${table} where account_id <> '${account}'`)).toBe(0);
        expect(await count(`update invoices.${table} set account_id = account_id`)).toBe(own);
        expect(
          await count(`update invoices.${table} set account_id = account_id where account_id <> '${account}'`),
        ).toBe(0);
      });
    });

    test("takes the same insert from the account that it is for", async () => {
      await as(role, table === "accounts" ? "c" : "a", async () => {
        // 23503: it has passed the policy, and fails for want of its document.
        const code = await errorCode(client.query(`insert into invoices.${table} ${insertsInto[table]}`));
        expect(["no error", "23503"]).toContain(code);
      });
    });

    test("does not let a row move to another account", async () => {
      await as(role, "a", async () => {
        expect(await errorCode(client.query(`update invoices.${table} set account_id = 'b'`))).toBe("42501");
      });
    });
  });
});

describe("the application's login", () => {
  test("is above nothing: no owner, no superuser, no bypass", async () => {
    const sql = `select rolsuper or rolbypassrls or rolcreaterole as above, pg_has_role(oid, 'invoices_owner', 'MEMBER') as owner
                   from pg_roles where rolname = 'invoices_app'`;
    expect((await client.query(sql)).rows).toEqual([{ above: false, owner: false }]);
  });

  test("sees the rows of the account in force, and may not write accounts, tokens or delete documents", async () => {
    for (const table of tables) {
      expect(await as("invoices_app", "b", () => count(`select from invoices.${table}`))).toBe(rowsIn(table, "b"));
      expect(await as("invoices_app", null, () => count(`select from invoices.${table}`))).toBe(0);
    }
    for (const sql of [
      "update invoices.accounts set webhook_url = null",
      "delete from invoices.tokens",
      "insert into invoices.tokens select account_id, sha256('x') from invoices.accounts",
      "delete from invoices.documents",
    ]) {
      expect(await as("invoices_app", "b", () => errorCode(client.query(sql)))).toBe("42501");
    }
  });
});

test("every table of the schema that has an account forces the policy on its owner", async () => {
  const sql = `select c.relname as table, c.relrowsecurity and c.relforcerowsecurity as forced,
                      (select count(*)::int from pg_policy p where p.polrelid = c.oid) as policies
                 from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'account_id'
                where c.relnamespace = 'invoices'::regnamespace and c.relkind in ('r', 'p') order by 1`;
  const expected = [...tables].sort().map((table) => ({ table, forced: true, policies: 1 }));
  expect((await client.query(sql)).rows).toEqual(expected);
});

describe("migrating again", () => {
  test("changes nothing", async () => {
    expect(await migrateInvoices(client)).toEqual([]);
  });

  test("needs no superuser, only a login that may become the owner", async () => {
    await client.query(`
      do $$ begin
        if not exists (select from pg_roles where rolname = 'invoices_migrator') then
          create role invoices_migrator login noinherit;
        end if;
      end $$;
      grant invoices_owner to invoices_migrator;
    `);
    const url = new URL(stage.db.adminUrl);
    url.username = "invoices_migrator";
    expect(await withAdmin(url.href, migrateInvoices)).toEqual([]);
    await expect(withAdmin(stage.appUrl, migrateInvoices)).rejects.toMatchObject({ code: "42501" });
  });
});
