// What leads past the policies of a user's table. It only warns: whether another tenant can come that way depends on what
// the application does with it.
import type { Tx } from "../store/database.ts";
import {
  type ForeignKey,
  foreignKeysWithout,
  type UniqueKey,
  uniqueKeysWithout,
  unpinnedFunctionsOf,
  viewsAround,
} from "../store/inspect-user-links.ts";
import type { UserTable } from "../store/inspect-user-tables.ts";
import type { Finding, FindingCode } from "./finding.ts";

/** `column`: the tenant's, as the catalog has it. */
export async function checkLinks(tx: Tx, table: UserTable, column: string): Promise<readonly Finding[]> {
  const { oid, name } = table;
  const tenant = table.tenantColumn?.name ?? column;
  const warn = (code: FindingCode, subject: string, message: string, mend: string): Finding => ({
    code,
    severity: "warn",
    subject,
    message,
    mend,
  });
  return [
    ...(await uniqueKeysWithout(tx, oid, column)).map((key) =>
      warn(
        "unique_without_tenant",
        `${key.name} of ${name}`,
        `${key.name} of ${name} is unique over all tenants: one tenant's value can refuse another's, and tells that it is there`,
        widenedKey(key, name, tenant),
      ),
    ),
    ...(await foreignKeysWithout(tx, oid, column)).map((key) =>
      warn(
        "reference_without_tenant",
        `${key.name} of ${name}`,
        `${key.name} of ${name} may refer to a row of another tenant: row-level security does not bind foreign keys`,
        widenedReference(key, name, tenant),
      ),
    ),
    ...(await viewsAround(tx, oid)).map((view) =>
      warn(
        "view_as_owner",
        view,
        `view ${view} reads ${name} as its owner, whom row-level security does not bind: it shows every tenant's rows`,
        `alter view ${view} set (security_invoker = true)`,
      ),
    ),
    ...(await unpinnedFunctionsOf(tx, oid)).map(({ signature, schema }) =>
      warn(
        "definer_unpinned",
        signature,
        `${signature} acts as ${table.owner}, and looks names up where its caller says: a caller's function could run in its stead`,
        `alter function ${signature} set search_path = pg_catalog, ${schema}, pg_temp`,
      ),
    ),
  ];
}

function widenedKey({ name, constraint, index }: UniqueKey, table: string, tenant: string): string {
  if (constraint !== null) {
    return `alter table ${table} drop constraint ${name}, add ${constraint.replace("(", `(${tenant}, `)}`;
  }
  return `drop index ${name}; ${index.replace(" USING btree (", ` USING btree (${tenant}, `)}`;
}

/** The tenant stays where the reference is taken away: SET NULL is for the other columns. */
function widenedReference(key: ForeignKey, table: string, tenant: string): string {
  const { name, constraint, columns, target, targetColumns, targetHasKey } = key;
  const widened = constraint
    .replace("FOREIGN KEY (", `FOREIGN KEY (${tenant}, `)
    .replace(`(${targetColumns})`, () => `(${tenant}, ${targetColumns})`)
    .replace(/ON DELETE SET (NULL|DEFAULT)(?! \()/, (action) => `${action} (${columns})`);
  const needed = targetHasKey ? "" : `alter table ${target} add unique (${tenant}, ${targetColumns}); `;
  return `${needed}alter table ${table} drop constraint ${name}, add ${widened}`;
}
