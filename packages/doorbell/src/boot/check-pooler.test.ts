// What a pooler before Postgres may be, and what it may do. PgBouncer itself stands there.
import { describe, expect, onTestFinished, test } from "vitest";
import { havePgBouncer, startPgBouncer } from "../../test/servers/pgbouncer.ts";
import { openWard, production } from "../../test/ward.ts";
import { resolveSettings } from "../config/settings.ts";
import { judgePooler } from "./check-pooler.ts";
import { examine } from "./doctor.ts";

test.each<[string | null, boolean, readonly string[]]>([
  [null, false, []],
  [null, true, ["pooler_unknown"]],
  ["pgbouncer-1.25.2", true, []],
  ["pgbouncer-1.25.2", false, []],
  ["pgbouncer-2.0", true, []],
  ["pgbouncer-1.100", true, []],
  ["pgbouncer-1.25.1", true, ["pooler_too_old"]],
  ["pgbouncer-1.25", true, ["pooler_too_old"]],
  ["pgbouncer-1.18.0", false, ["pooler_too_old"]],
  ["odyssey", true, []],
  ["pgcat-1.2", true, []],
])("declared as %s, and there is one: %s: %j", (declared, pooled, codes) => {
  expect(judgePooler(declared, pooled).map(({ code }) => code)).toEqual(codes);
});

describe.skipIf(!havePgBouncer() && !process.env["CI"])("through PgBouncer (needs pgbouncer)", () => {
  test.each<["transaction" | "statement", Record<string, string>, readonly string[]]>([
    ["transaction", {}, ["pooler_unknown"]],
    ["transaction", { DOORBELL_POOLER: "pgbouncer-1.25.2" }, []],
    ["transaction", { DOORBELL_POOLER: "pgbouncer-1.18.0" }, ["pooler_too_old"]],
    ["statement", { DOORBELL_POOLER: "pgbouncer-1.25.2" }, ["pooler_splits"]],
  ])("in %s mode, with %j: %j", async (mode, variables, codes) => {
    const { database } = await openWard();
    const pooler = await startPgBouncer(database.adminUrl, 4, mode);
    onTestFinished(() => pooler.stop());
    const url = new URL(pooler.url);
    url.username = "app";
    const settings = resolveSettings({ ...production, ...variables });
    const findings = await examine({ settings, databaseUrl: url.href, variables: {} });
    expect(findings.map(({ code }) => code)).toEqual(codes);
  });
});
