// Whether a table of the user's keeps tenants apart for this login: that it has a tenant, and that policies bind whoever
// comes without one.
import type { Database, Tx } from "../store/database.ts";
import { qualifyNames } from "../store/inspect.ts";
import { findUserTable, inspectUserTable, type UserTable } from "../store/inspect-user-tables.ts";
import { checkLinks } from "./check-links.ts";
import { checkPolicies } from "./check-policies.ts";
import { checkRows } from "./check-rows.ts";
import type { Finding, FindingCode } from "./finding.ts";

export interface UserTables {
  /** As they are written in SQL, with their schema or in search_path. */
  readonly names: readonly string[];
  /** As the catalog has it. */
  readonly tenantColumn: string;
  /** That their policies read. Null: ours, doorbell.tenant_id. Letters, digits, underscores and dots. */
  readonly tenantSetting: string | null;
}

/** `bound`: row-level security binds the login. Where it does not, every table shows everything, which is told once. */
export async function checkUserTable(
  database: Database,
  name: string,
  asked: UserTables,
  bound: boolean,
): Promise<readonly Finding[]> {
  const { table, findings } = await database.transaction((tx) => readCatalogs(tx, name, asked));
  const ofPartitions: Finding[] = [];
  for (const partition of table?.partitions ?? []) {
    ofPartitions.push(...(await checkUserTable(database, partition, asked, bound)));
  }
  // A table that shows what the catalogs say it will would be the same finding again.
  if (table === null || !table.readable || !bound || findings.some(({ severity }) => severity === "refuse")) {
    return [...findings, ...ofPartitions];
  }
  const seen = await checkRows(database, { table: table.name, tenantSetting: asked.tenantSetting });
  return [...findings, ...seen, ...ofPartitions];
}

async function readCatalogs(
  tx: Tx,
  name: string,
  { tenantColumn, tenantSetting }: UserTables,
): Promise<{ readonly table: UserTable | null; readonly findings: readonly Finding[] }> {
  const oid = await findUserTable(tx, name);
  await qualifyNames(tx);
  const table = oid === null ? null : await inspectUserTable(tx, oid, tenantColumn);
  if (table === null) {
    const mend = "name it with its schema: --tables SCHEMA.TABLE";
    return { table, findings: [refuse("table_missing", name, `there is no table ${name}`, mend)] };
  }
  const unfit = checkColumn(table, tenantColumn);
  const findings = [
    ...checkForce(table),
    ...unfit,
    // Without a column that tells whose a row is, there is nothing that its policies should say.
    ...(unfit.length > 0 ? [] : checkPolicies(table, tenantSetting ?? "doorbell.tenant_id")),
    ...checkNulls(table),
    ...(table.tenantColumn === null ? [] : await checkLinks(tx, table, tenantColumn)),
  ];
  return { table, findings };
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

function checkColumn(table: UserTable, column: string): readonly Finding[] {
  const { name, tenantColumn } = table;
  const subject = `${name}.${column}`;
  if (tenantColumn === null) {
    const mend = "add it, or name another with --tenant-column NAME; a table that is no tenant's need not be named";
    return [
      refuse("tenant_column_missing", subject, `${name} has no column ${column} that tells whose a row is`, mend),
    ];
  }
  if (["text", "character varying", "uuid"].includes(tenantColumn.type)) return [];
  const { name: quoted, type } = tenantColumn;
  return [
    refuse(
      "tenant_column_type",
      subject,
      `${subject} is ${type}, and a tenant is text or uuid: nothing can be said of its policies`,
      `alter table ${name} alter column ${quoted} type text using ${quoted}::text`,
    ),
  ];
}

function checkNulls({ name, tenantColumn }: UserTable): readonly Finding[] {
  if (tenantColumn === null || !tenantColumn.nullable) return [];
  return [
    {
      code: "tenant_column_nullable",
      severity: "warn",
      subject: name,
      message: `a row of ${name} may be without a tenant: nobody would ever see it again`,
      mend: `alter table ${name} alter column ${tenantColumn.name} set not null`,
    },
  ];
}

function refuse(code: FindingCode, subject: string, message: string, mend: string): Finding {
  return { code, severity: "refuse", subject, message, mend };
}
