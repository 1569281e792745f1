// Whether the database has the schema of this version, and every table with a tenant its policies, forced.
import type { Database, Tx } from "../store/database.ts";
import { inspectSchema, inspectTenantTables, type TenantTable } from "../store/inspect.ts";
import { version } from "../version.ts";
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
const soundPolicies: ReadonlySet<string> = new Set([
  [
    policy("for_functions to {doorbell_owner}", `((tenant_id || ''::text) = ${theClamp})`),
    policy("one_tenant", `(tenant_id = ${theClamp})`),
  ].join("; "),
  policy(
    "the_line",
    `((( SELECT ${theClamp} AS current_setting) = tenant_id) OR (( SELECT ${theClamp} AS current_setting) = '*'::text))`,
  ),
]);

/** Their rows are read under a policy of their own: force_line makes it. */
const lineTables: ReadonlySet<string> = new Set(["doorbells", "newcomers", "rung", "tenants", "unhandled"]);

export async function checkTables(tx: Tx): Promise<readonly Finding[]> {
  return (await inspectTenantTables(tx)).flatMap(findingsOf);
}

/** Of tables of which `known` says nothing already. */
export async function checkOurRows(database: Database, known: readonly Finding[]): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const { name, readable } of await inspectTenantTables(database)) {
    const table = `doorbell.${name}`;
    if (!readable || known.some(({ subject }) => subject === table)) continue;
    findings.push(...(await checkRows(database, { table, tenantSetting: null })));
  }
  return findings;
}

function findingsOf({ name, enabled, forced, policies, policyNames }: TenantTable): readonly Finding[] {
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
  const present = policies.join("; ");
  if (!soundPolicies.has(present)) {
    findings.push({
      code: "table_policies",
      severity: "refuse",
      subject: table,
      message: `the policies of ${table} are not those that keep it to one tenant (they are: ${present || "none"})`,
      mend: [
        ...policyNames.map((policy) => `drop policy ${policy} on ${table}`),
        `select doorbell.${lineTables.has(name) ? "force_line" : "force_tenancy"}('${name}')`,
      ].join("; "),
    });
  }
  return findings;
}
