// Whether a table of the user's keeps tenants apart for this login: that it has a tenant, and that policies bind whoever
// comes without one.
import type { Database, Tx } from "../store/database.ts";
import { qualifyNames } from "../store/inspect.ts";
import { findUserTable, inspectUserTable, type UserTable } from "../store/inspect-user-tables.ts";
import { ourSetting } from "../store/tenancy.ts";
import { checkFunctions } from "./check-functions.ts";
import { checkUserLinks } from "./check-links.ts";
import { checkPolicies, soundCondition, type TenantSource } from "./check-policies.ts";
import { checkRows, type LookedAt } from "./check-rows.ts";
import type { Finding, FindingCode } from "./finding.ts";

export interface UserTables {
  /** As they are written in SQL, with their schema or in search_path. */
  readonly names: readonly string[];
  /** As the catalog has it. */
  readonly tenantColumn: string;
  /** That their policies read. Null: ours, doorbell.tenant_id. Letters, digits, underscores and dots. */
  readonly tenantSetting: string | null;
}

/** What is asked of all tables of one look. */
export interface Asked extends UserTables {
  /** Tenancy is signed. */
  readonly signed: boolean;
}

/** `bound`: row-level security binds the login. Where it does not, every table shows everything, which is told once. */
export async function checkUserTable(
  database: Database,
  name: string,
  asked: Asked,
  bound: boolean,
): Promise<readonly Finding[]> {
  const { table, findings, links } = await database.transaction((tx) => readCatalogs(tx, name, asked));
  const ofPartitions: Finding[] = [];
  for (const partition of table?.partitions ?? []) {
    ofPartitions.push(...(await checkUserTable(database, partition, asked, bound)));
  }
  // A table that shows what the catalogs say it will would be the same finding again.
  if (table === null || !table.readable || !bound || findings.some(({ severity }) => severity === "refuse")) {
    return [...findings, ...links, ...ofPartitions];
  }
  const { tenantSetting } = asked;
  const mends = mendsOf(table, sourceOf(asked));
  const seen = await checkRows(database, { table: table.name, tenantSetting, mends });
  return [...findings, ...links, ...seen, ...ofPartitions];
}

interface Catalogs {
  readonly table: UserTable | null;
  readonly findings: readonly Finding[];
  /** What leads past its policies, however sound they are. */
  readonly links: readonly Finding[];
}

const sourceOf = ({ tenantSetting, signed }: Asked): TenantSource => ({ setting: tenantSetting ?? ourSetting, signed });

/** Policies that read well and do not do what they say: what they are called upon to judge is taken from them. */
function mendsOf(table: UserTable, source: TenantSource): LookedAt["mends"] {
  const { name, policies } = table;
  const condition = soundCondition(table, source);
  const clauses = `using (${condition}) with check (${condition})`;
  return {
    leaks: `create policy tenant_bound on ${name} as restrictive ${clauses}`,
    raises: [
      ...policies.map((policy) => `drop policy ${policy.name} on ${name}`),
      `create policy tenant_only on ${name} ${clauses}`,
    ].join("; "),
  };
}

async function readCatalogs(tx: Tx, name: string, asked: Asked): Promise<Catalogs> {
  const { tenantColumn } = asked;
  const source = sourceOf(asked);
  const oid = await findUserTable(tx, name);
  await qualifyNames(tx);
  const table = oid === null ? null : await inspectUserTable(tx, oid, tenantColumn);
  if (table === null) {
    const mend = "name it with its schema: --tables SCHEMA.TABLE";
    return { table, findings: [refuse("table_missing", name, `there is no table ${name}`, mend)], links: [] };
  }
  const unfit = checkColumn(table, tenantColumn, source);
  const findings = [
    ...checkForce(table),
    ...unfit,
    // Without a column that tells whose a row is, there is nothing that its policies should say.
    ...(unfit.length > 0 ? [] : checkPolicies(table, source)),
    ...checkValues(table),
  ];
  const quoted = table.tenantColumn?.name;
  const links = quoted === undefined ? [] : await checkUserLinks(tx, [table.oid], { column: tenantColumn, quoted });
  return { table, findings, links: [...links, ...(await checkFunctions(tx, [table.oid]))] };
}

function checkForce({ name, owner, ownedByLogin, enabled, forced }: UserTable): readonly Finding[] {
  const force = ownedByLogin && !forced;
  if (enabled && !force) return [];
  const why = enabled
    ? `row-level security of ${name} is not forced, and the login is, or may become, its owner ${owner}: it binds the login only where it is forced`
    : `row-level security of ${name} is off, so it keeps no tenants apart`;
  const actions = [...(enabled ? [] : ["enable"]), ...(force ? ["force"] : [])];
  const mend = `alter table ${name} ${actions.map((action) => `${action} row level security`).join(", ")}`;
  return [refuse("table_unforced", name, why, mend)];
}

function checkColumn(table: UserTable, column: string, source: TenantSource): readonly Finding[] {
  const { name, tenantColumn, policies } = table;
  const subject = `${name}.${column}`;
  if (tenantColumn === null) {
    const mend = "add it, or name another with --tenant-column NAME; a table that is no tenant's need not be named";
    return [
      refuse("tenant_column_missing", subject, `${name} has no column ${column} that tells whose a row is`, mend),
    ];
  }
  if (["text", "character varying", "uuid"].includes(tenantColumn.type)) return [];
  const { name: quoted, type } = tenantColumn;
  // A policy that reads the column keeps its type from being changed.
  const inTheWay = policies.filter(({ using, check }) => `${using} ${check}`.includes(tenantColumn.name));
  const condition = soundCondition({ tenantColumn: { ...tenantColumn, type: "text" } }, source);
  return [
    refuse(
      "tenant_column_type",
      subject,
      `${subject} is ${type}, and a tenant is text or uuid: nothing can be said of its policies`,
      [
        ...inTheWay.map((policy) => `drop policy ${policy.name} on ${name}`),
        `alter table ${name} alter column ${quoted} type text using ${quoted}::text`,
        ...(inTheWay.length === 0
          ? []
          : [`create policy tenant_only on ${name} using (${condition}) with check (${condition})`]),
      ].join("; "),
    ),
  ];
}

function checkValues({ name, tenantColumn, policies }: UserTable): readonly Finding[] {
  if (tenantColumn === null) return [];
  const findings: Finding[] = [];
  const { name: quoted, type, nullable, unchecked } = tenantColumn;
  if (nullable) {
    findings.push({
      code: "tenant_column_nullable",
      severity: "warn",
      subject: name,
      message: `a row of ${name} may be without a tenant: nobody would ever see it again`,
      mend: `alter table ${name} alter column ${quoted} set not null`,
    });
  }
  const shown = policies.some(
    ({ permissive, applies, using }) => permissive && applies && !/nullif\(/i.test(using ?? ""),
  );
  if (unchecked && shown && type !== "uuid") {
    findings.push({
      code: "tenant_column_empty",
      severity: "warn",
      subject: name,
      message: `a row of ${name} may have the empty tenant: whoever has not clamped would see it, on a connection that has carried a tenant`,
      mend: `alter table ${name} add check (${quoted} <> '')`,
    });
  }
  return findings;
}

function refuse(code: FindingCode, subject: string, message: string, mend: string): Finding {
  return { code, severity: "refuse", subject, message, mend };
}
