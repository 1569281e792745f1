// Signed tenancy, from the web tier's login: what it may do for the tenant it has a token for, and what SQL that somebody
// injects there may do for others, which is nothing.
import { createHmac } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { defineJob, fromPg, handle } from "../../src/index.ts";
import { kindStats } from "../../src/store/maintenance.ts";
import { forEveryTenant, tenancyOf, tokenKeys } from "../../src/store/tenancy.ts";
import { rows, Sql, sqlStateOf } from "../sql/support.ts";
import { eventually, Stage } from "../support.ts";
import { Checks } from "./boundary.ts";
import { expectSound } from "./counted.ts";
import { signed, signing, worthlessTokens } from "./signing.ts";

const greet = defineJob({ kind: "greet" });
const tenants = ["tenant-a", "tenant-b"];

async function openSigned() {
  const sql = await Sql.open();
  onTestFinished(() => sql[Symbol.asyncDispose]());
  const admin = await sql.connect(sql.db.adminUrl);
  const { tenancy, accept } = signing();
  await accept(admin);
  const ids: Record<string, string> = {};
  for (const tenant of tenants) {
    const [job] = await rows<{ id: string }>(admin, "select job_id as id from doorbell.enqueue($1, 'greet')", [tenant]);
    ids[tenant] = job?.id ?? "";
  }
  return { sql, admin, web: await sql.connect(sql.db.webUrl), sign: tenancy.sign ?? String, ids };
}

/** What somebody would try who may run SQL in a transaction, to reach this tenant. */
const attempts = (tenant: string, id: string): readonly string[] => [
  `select doorbell.enqueue('${tenant}', 'k')`,
  `select * from doorbell.enqueue_many('[{"tenant":"${tenant}","kind":"k"}]')`,
  `select doorbell.emit('${tenant}', 'e')`,
  `select doorbell.cancel('${tenant}', '${id}')`,
  `select * from doorbell.replay('${tenant}', '{${id}}')`,
  `select * from doorbell.discard('${tenant}', '{${id}}', 'r', 'a')`,
  `select * from doorbell.resolve_effect('${tenant}', '${id}', 'k', 'completed', null, 'r', 'a')`,
  `select doorbell.add_webhook('${tenant}', '${id}', 'https://h.example/', '{*}', '\\x00')`,
  `select doorbell.rotate_webhook('${tenant}', '${id}', '\\x00', 0)`,
  `select doorbell.set_webhook_state('${tenant}', '${id}', 'disabled', 'r')`,
  `select doorbell.remove_webhook('${tenant}', '${id}')`,
];

/** What nobody may in the web tier, whatever token there is. */
const never = (id: string): readonly string[] => [
  `select * from doorbell.claim('w', array['tenant-a'], array['${id}'::uuid], array['greet'])`,
  "select * from doorbell.tick('w', array['greet'], 1, array['default'])",
  "select * from doorbell.take('default', 1)",
  "select * from doorbell.token_keys",
  "select doorbell.accept_tokens('{}')",
  "select doorbell.token_tenant()",
  "select doorbell.webhooks_for('tenant-a', 'e')",
  `select doorbell.wait_for('w', 'tenant-a', '${id}', 1, 'k', 'e', null)`,
  `select doorbell.spawn('w', 'tenant-a', '${id}', 1, 'k', '{1}', '[{"kind":"k"}]')`,
  `select doorbell.wake_parents('{tenant-a}', '{${id}}')`,
  `select doorbell.webhook_target('tenant-a', '${id}')`,
  "select sealed from doorbell.webhook_secrets",
  "set local role doorbell_worker",
  "set local role doorbell_owner",
  "set local session authorization app",
];

test("injected SQL cannot move the clamp, act for another tenant, claim, or switch the signing off", async () => {
  const { web, sign, ids } = await openSigned();
  const checks = new Checks();
  await web.query("begin");
  await web.query("select set_config('doorbell.tenant_id', 'tenant-a', true), set_config('doorbell.token', $1, true)", [
    sign("tenant-a"),
  ]);
  const seen = async (): Promise<unknown> =>
    (await rows(web, "select tenant_id from doorbell.jobs order by 1")).map((row) => row["tenant_id"]);
  checks.equal("A's own rows", await seen(), ["tenant-a"]);
  const tokens: readonly (readonly [string, string | null])[] = [
    ["A's token", sign("tenant-a")],
    ...worthlessTokens(sign).filter(([what]) => what !== "B's token" && what !== "the token for all"),
  ];
  for (const [what, token] of tokens) {
    for (const clamp of ["tenant-b", "*", ""]) {
      await web.query("savepoint moved");
      await web.query("select set_config('doorbell.tenant_id', $1, true), set_config('doorbell.token', $2, true)", [
        clamp,
        token,
      ]);
      checks.equal(`${what}, clamp ${clamp}: rows`, await seen(), []);
      for (const statement of attempts("tenant-b", ids["tenant-b"] ?? ""))
        checks.equal(`${what}, clamp ${clamp}: ${statement}`, await sqlStateOf(web, statement), "42501");
      if (clamp !== "*")
        checks.equal(
          `${what}, clamp ${clamp}: stats`,
          await sqlStateOf(web, "select * from doorbell.stats()"),
          "42501",
        );
      await web.query("rollback to savepoint moved");
    }
  }
  for (const statement of never(ids["tenant-a"] ?? ""))
    checks.equal(statement, await sqlStateOf(web, statement), "42501");
  checks.equal("A's own rows, after all that", await seen(), ["tenant-a"]);
  for (const statement of attempts("tenant-a", ids["tenant-a"] ?? "").slice(0, 5))
    checks.equal(`with its own token: ${statement}`, await sqlStateOf(web, statement), null);
  await web.query("rollback");
  expectSound(checks, 250);
});

test("a token is in force until its transaction ends, and the clock of the database judges it", async () => {
  const { web, sign, admin } = await openSigned();
  await web.query("begin");
  await web.query("select set_config('doorbell.tenant_id', 'tenant-a', true), set_config('doorbell.token', $1, true)", [
    sign("tenant-a"),
  ]);
  expect(await rows(web, "select doorbell.tenant() as tenant")).toEqual([{ tenant: "tenant-a" }]);
  await web.query("commit");
  expect(
    await rows(web, "select doorbell.tenant() as tenant, current_setting('doorbell.token', true) as token"),
  ).toEqual([{ tenant: null, token: "" }]);
  // Signed by hand, as any language may: HMAC-SHA256 of RFC 2104, here with a key of the database's own choice.
  await admin.query(
    "begin; set local role doorbell_owner; select doorbell.accept_tokens(array[decode(repeat('0b', 32), 'hex')]); commit",
  );
  const token = (expiry: number): string =>
    `t|x|${expiry}|${createHmac("sha256", Buffer.alloc(32, 0x0b)).update(`t|x|${expiry}`).digest("hex")}`;
  for (const [expiry, tenant] of [
    [Date.now() + 60_000, "t|x"],
    [Date.now() - 60_000, null],
  ] as const) {
    await web.query("begin");
    await web.query("select set_config('doorbell.tenant_id', 't|x', true), set_config('doorbell.token', $1, true)", [
      token(expiry),
    ]);
    expect(await rows(web, "select doorbell.tenant() as tenant")).toEqual([{ tenant }]);
    await web.query("rollback");
  }
});

test("the client signs: enqueue in and out of transactions, many tenants at once, and the worker runs them", async () => {
  await using stage = await Stage.open();
  const { accept } = signing();
  const sql = new Sql(stage.db);
  await accept(await sql.connect(stage.db.adminUrl));
  const web = await stage.client({ databaseUrl: stage.db.webUrl, ...signed });
  const unsigned = await stage.client({ databaseUrl: stage.db.webUrl });
  await expect(unsigned.enqueue(greet, undefined, { tenant: "tenant-a" })).rejects.toThrow("no valid token");
  await expect(unsigned.emit("tenant-a", "paid")).rejects.toThrow("no valid token");
  expect(await web.emit("tenant-a", "paid")).toBe(0);

  const { id } = await web.enqueue(greet, undefined, { tenant: "tenant-a" });
  await web.enqueueMany(tenants.map((tenant) => ({ job: greet, tenant })));
  await web.transaction("tenant-b", async (tx) => {
    await web.enqueue(greet, undefined, { tenant: "tenant-b", tx });
    expect(await tx.query("select id from doorbell.jobs")).toHaveLength(2);
    await expect(web.enqueue(greet, undefined, { tenant: "tenant-a", tx })).rejects.toMatchObject({
      code: "tenant_mismatch",
    });
  });
  const mine = await sql.connect(stage.db.webUrl);
  await mine.query("begin");
  const tx = fromPg(mine);
  for (const tenant of tenants) await web.enqueue(greet, undefined, { tenant, tx });
  await web.enqueueMany(
    tenants.map((tenant) => ({ job: greet, tenant })),
    { tx },
  );
  // No token stays behind for whoever injects into what is left of the transaction.
  expect(
    await rows(
      mine,
      "select current_setting('doorbell.token') as token, current_setting('doorbell.tenant_id') as clamp",
    ),
  ).toEqual([{ token: "", clamp: "" }]);
  await mine.query("commit");

  const app = await stage.client(signed);
  const seen: string[] = [];
  await stage.worker(app, [
    handle(greet, async (job) => {
      const own = await job.transaction((own) =>
        own.query<{ id: string }>("select id from doorbell.jobs where id = $1", [job.id]),
      );
      seen.push(`${job.tenant} ${own.length}`);
    }),
  ]);
  await eventually("eight jobs", () => seen.length === 8);
  expect([...seen].sort()).toEqual([...Array(4).fill("tenant-a 1"), ...Array(4).fill("tenant-b 1")]);
  await web.transaction("tenant-a", async (own) => {
    await eventually(
      "history",
      async () =>
        (await own.query("select id from doorbell.all_jobs where id = $1 and state = 'done'", [id])).length === 1,
    );
  });
  await web.transaction("tenant-a", (own) => own.query("select doorbell.enqueue('tenant-a', 'nobody knows it')"));
  const stats = await forEveryTenant(web.client.database, web.client.tenancy, kindStats);
  expect(stats).toMatchObject([{ kind: "nobody knows it", due: 1 }]);
});

test("two secrets are accepted while they are changed, and the old one no longer after that", async () => {
  const { web, admin } = await openSigned();
  const [older, newer] = ["the older secret, of 32 characters", "the newer secret, of 32 characters"];
  const accept = async (...tenancySecrets: string[]): Promise<boolean> => {
    await admin.query("begin; set local role doorbell_owner");
    const [row] = await rows<{ changed: boolean }>(admin, "select doorbell.accept_tokens($1::bytea[]) as changed", [
      tokenKeys({ tenancy: "signed", tenancySecrets }),
    ]);
    await admin.query("commit");
    return row?.changed === true;
  };
  const taken = async (secret: string): Promise<boolean> => {
    const token = tenancyOf(null, { tenancy: "signed", tenancySecrets: [secret] }).sign?.("tenant-a");
    await web.query("begin");
    await web.query(
      "select set_config('doorbell.tenant_id', 'tenant-a', true), set_config('doorbell.token', $1, true)",
      [token],
    );
    const seen = await rows(web, "select from doorbell.jobs");
    await web.query("rollback");
    return seen.length === 1;
  };
  expect([await accept(older), await taken(older), await taken(newer)]).toEqual([true, true, false]);
  expect([await accept(newer, older), await taken(older), await taken(newer)]).toEqual([true, true, true]);
  expect(await accept(older, newer, newer)).toBe(false);
  expect([await accept(newer), await taken(older), await taken(newer)]).toEqual([true, false, true]);
});
