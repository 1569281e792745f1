// Tenants side by side: on one connection, with one another's ids and keys, and with ids that are made to confuse.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createDoorbell, createLog, defineJob, handle } from "../../src/index.ts";
import { createTestDatabase, type TestDatabase } from "../../src/testing/database.ts";
import { claim, enqueue, rows, Sql } from "../sql/support.ts";
import { eventually, Stage, signal } from "../support.ts";
import { Checks } from "./boundary.ts";
import { expectSound } from "./counted.ts";

const work = defineJob({ kind: "work" });
const quiet = createLog({ level: "silent" });

/** The long form, 10,000, is for `npm run test:tenancy`. */
const turns = Number(process.env["DOORBELL_TEST_TURNS"] ?? 1_000);

test("two tenants in turn over one connection, thousands of times: each reads its own rows and no other, and nothing is set for a session", async () => {
  await using db = await createTestDatabase();
  await db.query(`alter database ${new URL(db.adminUrl).pathname.slice(1)} set log_statement = 'all'`);
  const doorbell = await createDoorbell({ databaseUrl: db.appUrl, connectionsMax: 1, log: quiet });
  const own: Record<string, number> = { "tenant-a": 3, "tenant-b": 2 };
  for (const [tenant, count] of Object.entries(own)) {
    await doorbell.enqueueMany(Array.from({ length: count }, () => ({ job: work, tenant })));
  }
  const checks = new Checks();
  for (let turn = 0; turn < turns; turn += 1) {
    const tenant = turn % 2 === 0 ? "tenant-a" : "tenant-b";
    const found = await doorbell.transaction(tenant, (tx) =>
      tx.query("select tenant_id, count(*)::int as n from doorbell.jobs group by 1"),
    );
    checks.equal(`turn ${turn}, ${tenant}`, found, [{ tenant_id: tenant, n: own[tenant] }]);
  }
  const [after] = await doorbell.client.database.query<{ n: number }>("select count(*)::int as n from doorbell.jobs");
  checks.equal("without a tenant, at the end", after?.n, 0);
  await doorbell.close();
  const statements = await loggedStatements(db);
  checks.equal("statements in the log", statements.length > 3 * turns, true);
  checks.equal("of them for a session", statements.filter(isForSession), []);
  expectSound(checks, turns);
}, 120_000);

/** What the product's login has sent to this database, as the server's log has it. */
async function loggedStatements(db: TestDatabase): Promise<readonly string[]> {
  const [row] = await db.query<{ folder: string }>("select current_setting('data_directory') as folder");
  const log = readFileSync(join(row?.folder ?? "", "..", "server.log"), "utf8");
  const mine = ` app@${new URL(db.appUrl).pathname.slice(1)} `;
  return log
    .split("\n")
    .filter((line) => line.includes(mine))
    .flatMap((line) => /(?:statement|execute [^:]+): (.*)/.exec(line)?.[1] ?? []);
}

/**
 * SET without LOCAL, set_config for longer than the transaction, and what else outlives one in a pooled connection. What
 * PgBouncer sends by itself, to give a server connection the client's application_name, is not ours.
 */
function isForSession(statement: string): boolean {
  if (/^SET application_name='doorbell';$/.test(statement)) return false;
  return (
    /^\s*(set\s+(?!local|transaction)|reset|discard|prepare|listen|declare .* with hold)/i.test(statement) ||
    /set_config\([^)]*,\s*false\s*\)|pg_(try_)?advisory_lock/i.test(statement)
  );
}

test("two tenants in turn through a worker: each handler's transaction shows its own rows and no other", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const checks = new Checks();
  const jobs = 400;
  let handled = 0;
  await stage.worker(doorbell, [
    handle(work, async (job) => {
      const found = await job.transaction((tx) => tx.query("select distinct tenant_id from doorbell.jobs"));
      checks.equal(`a job of ${job.tenant}`, found, [{ tenant_id: job.tenant }]);
      handled += 1;
    }),
  ]);
  await doorbell.enqueueMany(Array.from({ length: jobs }, (_, n) => ({ job: work, tenant: `tenant-${n % 2}` })));
  await eventually("all jobs to be handled", () => handled === jobs, 20_000);
  expectSound(checks, jobs);
}, 60_000);

test("a doorbell that names another tenant for a job claims nothing, changes nothing, and is dropped and counted", async () => {
  await using sql = await Sql.open();
  const client = await sql.connect();
  const id = await enqueue(client, "tenant-a");
  const forged = await rows(
    client,
    "select what, attempt from doorbell.claim('w', array['tenant-b'], array[$1::uuid], array['work'])",
    [id],
  );
  const superuser = await sql.connect(sql.db.adminUrl);
  const checks = new Checks();
  checks.equal("the answer", forged, [{ what: "stale", attempt: 1 }]);
  checks.equal("the job", await rows(superuser, "select tenant_id, state, attempts from doorbell.all_jobs"), [
    { tenant_id: "tenant-a", state: "queued", attempts: 0 },
  ]);
  checks.equal("its own doorbell claims it", (await claim(client, "w", [["tenant-a", id]])).length, 1);
  expectSound(checks, 3);
});

const oddTenants = [
  "it's",
  'say "no"',
  "100%",
  "../etc",
  "a;drop table doorbell.jobs",
  "\\",
  "$1",
  "{a,b}",
  "NULL",
  "🦊🦊",
  "ümlaut",
  " leading and trailing ",
  "x".repeat(200),
];

test("tenant ids with quotes, signs and letters of all kinds work; too long, empty and '*' are refused before any SQL", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const checks = new Checks();
  const handled: string[] = [];
  await stage.worker(doorbell, [
    handle(work, async (job) => {
      const found = await job.transaction((tx) => tx.query("select distinct tenant_id from doorbell.jobs"));
      checks.equal(`as ${job.tenant}`, found, [{ tenant_id: job.tenant }]);
      handled.push(job.tenant);
    }),
  ]);
  await doorbell.enqueueMany(oddTenants.map((tenant) => ({ job: work, tenant })));
  await eventually("a job of each", () => handled.length === oddTenants.length);
  checks.equal("who was served", handled.toSorted(), oddTenants.toSorted());
  const bad = ["", "*", "x".repeat(201), "é".repeat(101), "a\0b", "\ud800", "x".repeat(10_000)];
  for (const tenant of bad) {
    const refused = await doorbell.enqueue(work, {}, { tenant }).then(
      () => "enqueued",
      (error: { code: string }) => error.code,
    );
    checks.equal(`${tenant.slice(0, 10)} (${tenant.length})`, refused, "tenant_invalid");
  }
  expectSound(checks, oddTenants.length + bad.length);
});

test("keys, ids and objects of one name collide across tenants without either noticing", async () => {
  await using sql = await Sql.open();
  const checks = new Checks();
  const doorbell = await createDoorbell({ databaseUrl: sql.db.appUrl, log: quiet });
  const id = "01890a5d-ac96-774b-bcce-b302099a8057";
  for (const tenant of ["tenant-a", "tenant-b"]) {
    const first = await doorbell.enqueue(work, { tenant }, { tenant, id, idempotencyKey: "key", objectKey: "k" });
    const again = await doorbell.enqueue(work, { tenant }, { tenant, id, idempotencyKey: "key", objectKey: "k" });
    checks.equal(`${tenant}: the first`, first.created, true);
    checks.equal(`${tenant}: again`, [again.id, again.created], [id, false]);
  }
  const client = await sql.connect();
  checks.equal(
    "both are claimed",
    (
      await claim(client, "w", [
        ["tenant-a", id],
        ["tenant-b", id],
      ])
    ).length,
    2,
  );
  for (const tenant of ["tenant-a", "tenant-b"]) {
    await client.query("begin");
    await client.query("select set_config('doorbell.tenant_id', $1, true)", [tenant]);
    checks.equal(
      `${tenant} sees its own`,
      await rows(client, "select payload from doorbell.all_jobs where id = $1", [id]),
      [{ payload: { tenant } }],
    );
    await client.query("commit");
  }
  await doorbell.close();
  expectSound(checks, 7);
  expect(await (await sql.connect(sql.db.adminUrl)).query("select from doorbell.jobs")).toMatchObject({ rowCount: 2 });
});

test("two tenants' jobs of one id run side by side in one worker, and each ends as itself", async () => {
  await using stage = await Stage.open();
  const doorbell = await stage.client();
  const id = "01890a5d-ac96-774b-bcce-b302099a8058";
  const begun = new Set<string>();
  const [both, goOn] = [signal(), signal()];
  await stage.worker(
    doorbell,
    [
      handle(work, async (job) => {
        begun.add(job.tenant);
        if (begun.size === 2) both.resolve();
        await goOn.promise;
        return { by: job.tenant };
      }),
    ],
    { lease: "1s" },
  );
  for (const tenant of ["tenant-a", "tenant-b"]) await doorbell.enqueue(work, {}, { tenant, id });
  await both.promise;
  // One of them is taken away, which the lease keeper finds; the other goes on.
  const cancelled = await doorbell.client.database.query("select doorbell.cancel('tenant-a', $1::uuid) as c", [id]);
  const checks = new Checks();
  checks.equal("the cancel", cancelled.length, 1);
  await sleep(800); // past a renewal
  goOn.resolve();
  await eventually("both to end", async () => (await stage.db.query("select from doorbell.jobs")).length === 0);
  checks.equal(
    "how they ended",
    await stage.db.query("select tenant_id, state, result from doorbell.all_jobs order by tenant_id"),
    [
      { tenant_id: "tenant-a", state: "cancelled", result: null },
      { tenant_id: "tenant-b", state: "done", result: { by: "tenant-b" } },
    ],
  );
  expectSound(checks, 2);
});
