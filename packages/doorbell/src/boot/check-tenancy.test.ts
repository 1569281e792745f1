// Signed tenancy, as the doctor sees it: every way in which a process and its database can disagree.
import { expect, test } from "vitest";
import { signed, signing } from "../../test/tenancy/signing.ts";
import { openWard, production } from "../../test/ward.ts";
import { resolveSettings } from "../config/settings.ts";
import { examine } from "./doctor.ts";
import type { FindingCode } from "./finding.ts";

const variables = { DOORBELL_TENANCY: "signed", DOORBELL_TENANCY_SECRETS: signed.tenancySecrets.join(",") };

async function open() {
  const ward = await openWard();
  const found = async (login: string, role: string, more: Record<string, string> = variables) => {
    const url = new URL(ward.database.adminUrl);
    url.username = login;
    const settings = resolveSettings({ ...production, DOORBELL_ROLE: role, ...more });
    return await examine({ settings, databaseUrl: url.href, variables: {} });
  };
  const codes = async (...of: Parameters<typeof found>): Promise<readonly FindingCode[]> =>
    (await found(...of)).map(({ code }) => code);
  const accept = (secrets: readonly string[]) => signing(secrets).acceptBy(ward.sql);
  return { ...ward, found, codes, accept };
}

test("signed on both sides, with a login for each tier: nothing is found", async () => {
  const { codes, accept, login } = await open();
  await accept(signed.tenancySecrets);
  expect(await codes("web", "web")).toEqual([]);
  expect(await codes(await login("", "doorbell_worker"), "worker")).toEqual([]);
  expect(await codes("app", "worker")).toEqual([]);
});

test("a database that takes every clamp is found where tokens are expected of it", async () => {
  const { codes } = await open();
  expect(await codes("web", "web")).toEqual(["tenancy_unsigned"]);
});

test("a process whose tokens are not taken is found: without signing, without a secret, with another one", async () => {
  const { codes, accept } = await open();
  await accept(["another secret which is long enough"]);
  expect(await codes("web", "web")).toEqual(["tenancy_unproven"]);
  expect(await codes("web", "web", {})).toEqual(["tenancy_unproven"]);
  expect(await codes("web", "web", { DOORBELL_TENANCY: "signed" })).toEqual(["tenancy_unproven"]);
});

test("a web tier that could claim, and so needs no token, is found, and mended as it is printed", async () => {
  const { found, codes, accept, login, sql } = await open();
  await accept(signed.tenancySecrets);
  const both = await login();
  for (const role of ["web", "all"]) expect(await codes(both, role)).toEqual(["tenancy_login"]);
  for (const { mend } of await found(both, "web")) await sql(mend);
  expect(await codes(both, "web")).toEqual([]);
});
