// Whether the database has the schema of this version, and every table with a tenant its policies, forced.
import type { Database, Tx } from "../store/database.ts";
import {
  inspectOtherTables,
  inspectSchema,
  inspectTenantTables,
  type OtherTable,
  type TenantTable,
} from "../store/inspect.ts";
import { version } from "../version.ts";
import { checkOurLinks } from "./check-links.ts";
import { checkRows } from "./check-rows.ts";
import type { Finding } from "./finding.ts";

const subject = "schema doorbell";

export async function checkVersion(tx: Tx): Promise<readonly Finding[]> {
  const state = await inspectSchema(tx);
  // A login that may not even read the version lacks the rights for any role, which is a finding of its own.
  if (state === null) return [];
  if (state.ahead.length > 0) {
    return [
      {
        code: "schema_ahead",
        severity: "refuse",
        subject,
        message: `the schema is of a newer version: version ${version} does not know ${state.ahead.join(", ")}`,
        mend: "start the version of Doorbell that migrated it, or a newer one",
      },
    ];
  }
  if (state.behind.length === 0) return [];
  const tables = await inspectTenantTables(tx);
  if (tables.length === 0) {
    return [
      {
        code: "schema_missing",
        severity: "refuse",
        subject,
        message: "the database has no schema of Doorbell",
        mend: "doorbell migrate, with a login in DATABASE_URL that may create roles; or doorbell migrate --sql for a DBA",
      },
    ];
  }
  return [
    {
      code: "schema_behind",
      severity: "refuse",
      subject,
      message: `the schema is of another version: version ${version} would apply ${state.behind.join(", ")}`,
      mend: "doorbell migrate, with the login that migrates in DATABASE_URL",
    },
  ];
}

const theClamp = "current_setting('doorbell.tenant_id'::text, true)";

const policy = (name: string, condition: string): string => `${name} using (${condition}) with check (${condition})`;

/** The two sets of policies that keep a table to one tenant, as force_tenancy and force_line make them. */
const soundPolicies: ReadonlySet<string> = new Set(
  [
    `((tenant_id || ''::text) = ${theClamp})`,
    `((( SELECT ${theClamp} AS current_setting) = tenant_id) OR (( SELECT ${theClamp} AS current_setting) = '*'::text))`,
  ].map((ours) =>
    [policy("one_tenant", "(tenant_id = doorbell.tenant())"), policy("our_functions to {doorbell_owner}", ours)].join(
      "; ",
    ),
  ),
);

/** Their rows are read under a policy of their own: force_line makes it. */
const lineTables: ReadonlySet<string> = new Set([
  "doorbells",
  "newcomers",
  "rung",
  "tenants",
  "unhandled",
  "webhook_endpoints",
]);

/** What is in them is no tenant's, so others than functions may read it. */
const sharedTables: ReadonlySet<string> = new Set(["lanes", "migrations", "settings", "workers"]);

export async function checkTables(tx: Tx): Promise<readonly Finding[]> {
  const tables = await inspectTenantTables(tx);
  const others = (await inspectOtherTables(tx)).filter(({ name }) => !sharedTables.has(name));
  return [
    ...tables.flatMap(findingsOf),
    ...others.map(ofOther),
    ...(await checkOurLinks(
      tx,
      tables.map(({ oid }) => oid),
    )),
  ];
}

/** Of tables of which `known` says nothing already. */
export async function checkOurRows(database: Database, known: readonly Finding[]): Promise<readonly Finding[]> {
  const tables = (await inspectTenantTables(database))
    .filter(({ readable }) => readable)
    .filter(({ name }) => !known.some(({ subject }) => subject === `doorbell.${name}`));
  const looks = tables.map((one) => {
    const mend = policiesAnew(one);
    const mends = { leaks: mend, raises: mend };
    return checkRows(database, { table: `doorbell.${one.name}`, tenantSetting: null, mends });
  });
  return (await Promise.all(looks)).flat();
}

function ofOther({ name, kind, grantees }: OtherTable): Finding {
  const table = `doorbell.${name}`;
  const who = grantees.join(", ");
  return {
    code: "table_readable",
    severity: "refuse",
    subject: table,
    message: `${who} may read ${kind} ${table}, which has no tenant and no policies: whatever is in it is everybody's`,
    mend: `revoke select on ${table} from ${who}`,
  };
}

/** SQL that gives a table of ours its policies, and no others. */
function policiesAnew({ name, policyNames }: Pick<TenantTable, "name" | "policyNames">): string {
  return [
    ...policyNames.map((policy) => `drop policy ${policy} on doorbell.${name}`),
    `select doorbell.${lineTables.has(name) ? "force_line" : "force_tenancy"}('${name}')`,
  ].join("; ");
}

function findingsOf(one: TenantTable): readonly Finding[] {
  const { name, enabled, forced, policies, nullable, unchecked } = one;
  const table = `doorbell.${name}`;
  const findings: Finding[] = [];
  if (!enabled || !forced) {
    findings.push({
      code: "table_unforced",
      severity: "refuse",
      subject: table,
      message: `row-level security of ${table} is ${enabled ? "not forced, so it does not bind the owner's functions" : "off, so it keeps no tenants apart"}`,
      mend: `alter table ${table} enable row level security, force row level security`,
    });
  }
  if (nullable) {
    findings.push({
      code: "tenant_column_nullable",
      severity: "refuse",
      subject: table,
      message: `a row of ${table} may be without a tenant: nobody would ever see it again`,
      mend: `alter table ${table} alter column tenant_id set not null`,
    });
  }
  // The line has no such check, and needs none: nobody reads or writes it but functions that refuse the empty tenant.
  if (unchecked && !lineTables.has(name)) {
    findings.push({
      code: "tenant_column_empty",
      severity: "refuse",
      subject: table,
      message: `a row of ${table} may have the empty tenant: whoever has not clamped would see it`,
      mend: `alter table ${table} add check (tenant_id <> '')`,
    });
  }
  const present = policies.join("; ");
  if (!soundPolicies.has(present)) {
    findings.push({
      code: "table_policies",
      severity: "refuse",
      subject: table,
      message: `the policies of ${table} are not those that keep it to one tenant (they are: ${present || "none"})`,
      mend: policiesAnew(one),
    });
  }
  return findings;
}
