// What leads past the policies of tables. On ours all of it is refused: nothing of the kind belongs there. On a user's
// table what shows rows is refused; of the rest only a warning is given, since it depends on what the application does.
import type { Tx } from "../store/database.ts";
import {
  type EnumColumn,
  type Exposure,
  type ForeignKey,
  inspectLinks,
  type Publication,
  type SequenceGrant,
  type UniqueKey,
  type WideGrant,
} from "../store/inspect-links.ts";
import type { Finding, FindingCode } from "./finding.ts";

type Severity = Finding["severity"];

/** `tables`: ours, by their oids. What others may do with them is looked at elsewhere: check-grants.ts. */
export async function checkOurLinks(tx: Tx, tables: readonly number[]): Promise<readonly Finding[]> {
  const column = "tenant_id";
  const links = await inspectLinks(tx, tables, column);
  return [
    ...links.keys.map((key) => ofKey(key, column, "refuse")),
    ...links.references.map((key) => ofReference(key, column, "refuse")),
    ...links.exposures.map(ofExposure),
    ...links.unlogged
      .filter((table) => !disposable.has(table))
      .map((table) => ofUnlogged(table, "a crash would empty it, jobs and all", "refuse")),
    ...links.publications.map(ofPublication),
  ];
}

/** UNLOGGED on purpose: after a crash the sweep rings for every job that is due. */
const disposable: ReadonlySet<string> = new Set([
  "doorbell.doorbells",
  "doorbell.failures",
  "doorbell.milestones",
  "doorbell.rung",
  "doorbell.unhandled",
]);

/** `tenant`: the tenant's column, as the catalog has it, and as it is written in SQL. */
export async function checkUserLinks(
  tx: Tx,
  tables: readonly number[],
  tenant: { readonly column: string; readonly quoted: string },
): Promise<readonly Finding[]> {
  const links = await inspectLinks(tx, tables, tenant.column);
  return [
    ...links.keys.map((key) => ofKey(key, tenant.quoted, "warn")),
    ...links.references.map((key) => ofReference(key, tenant.quoted, "warn")),
    ...links.exposures.map(ofExposure),
    ...links.unlogged.map((table) => ofUnlogged(table, "a crash empties it, with every tenant's rows", "warn")),
    ...links.publications.map(ofPublication),
    ...links.grants.map(ofGrant),
    ...links.sequences.map(ofSequence),
    // Whose the tenant's own column is an enum is told of that already.
    ...links.enums.filter(({ column }) => column !== tenant.quoted).map(ofEnum),
  ];
}

function ofKey(key: UniqueKey, tenant: string, severity: Severity): Finding {
  const { table, name, constraint } = key;
  const exclusion = constraint?.startsWith("EXCLUDE") ?? false;
  return {
    code: "unique_without_tenant",
    severity,
    subject: `${name} of ${table}`,
    message: `${name} of ${table} ${exclusion ? "excludes" : "is unique"} over all tenants: one tenant's value can refuse another's, and tells that it is there`,
    mend: exclusion ? widenedExclusion(key, tenant) : widenedKey(key, tenant),
  };
}

function widenedKey({ table, name, constraint, index }: UniqueKey, tenant: string): string {
  if (constraint !== null) {
    return `alter table ${table} drop constraint ${name}, add ${constraint.replace("(", () => `(${tenant}, `)}`;
  }
  return `drop index ${name}; ${index.replace(" USING btree (", () => ` USING btree (${tenant}, `)}`;
}

function widenedExclusion({ table, name, constraint }: UniqueKey, tenant: string): string {
  const widened = (constraint ?? "").replace("(", () => `(${tenant} WITH =, `);
  // A tenant is no range: GiST compares it with an extension that comes with Postgres.
  const needed = widened.includes(" USING gist ") ? "create extension if not exists btree_gist; " : "";
  return `${needed}alter table ${table} drop constraint ${name}, add ${widened}`;
}

function ofReference(key: ForeignKey, tenant: string, severity: Severity): Finding {
  const { table, name } = key;
  return {
    code: "reference_without_tenant",
    severity,
    subject: `${name} of ${table}`,
    message: `${name} of ${table} may refer to a row of another tenant: row-level security does not bind foreign keys`,
    mend: widenedReference(key, tenant),
  };
}

/** The tenant stays where the reference is taken away: SET NULL is for the other columns. */
function widenedReference(key: ForeignKey, tenant: string): string {
  const { table, name, constraint, columns, target, targetColumns, targetHasKey } = key;
  const widened = constraint
    .replace("FOREIGN KEY (", () => `FOREIGN KEY (${tenant}, `)
    .replace(`(${targetColumns})`, () => `(${tenant}, ${targetColumns})`)
    .replace(/ON DELETE SET (NULL|DEFAULT)(?! \()/, (action) => `${action} (${columns})`);
  const needed = targetHasKey ? "" : `alter table ${target} add unique (${tenant}, ${targetColumns}); `;
  return `${needed}alter table ${table} drop constraint ${name}, add ${widened}`;
}

function ofExposure({ table, culprit, kind, owner, through, grantees }: Exposure): Finding {
  const by = through === culprit ? "" : `, which the login reads through ${through}`;
  if (kind === "view") {
    return {
      code: "view_as_owner",
      severity: "refuse",
      subject: culprit,
      message: `view ${culprit}${by} reads ${table} as its owner ${owner}, whom row-level security does not bind: it shows every tenant's rows`,
      mend: `alter view ${culprit} set (security_invoker = true)`,
    };
  }
  return {
    code: "rows_unguarded",
    severity: "refuse",
    subject: culprit,
    message: `${kind} ${culprit}${by} has rows of ${table}, and policies cannot bind it: it shows whatever tenants' rows are in it`,
    mend: grantees.length === 0 ? `drop ${kind} ${through}` : `revoke select on ${through} from ${grantees.join(", ")}`,
  };
}

function ofUnlogged(table: string, consequence: string, severity: Severity): Finding {
  return {
    code: "table_unlogged",
    severity,
    subject: table,
    message: `${table} is UNLOGGED: ${consequence}`,
    mend: `alter table ${table} set logged`,
  };
}

function ofPublication({ table, publication, part, schema }: Publication): Finding {
  const mends: Readonly<Record<Publication["part"], string>> = {
    table: `alter publication ${publication} drop table ${table}`,
    schema: `alter publication ${publication} drop tables in schema ${schema}`,
    everything: `drop publication if exists ${publication}`,
  };
  return {
    code: "table_published",
    severity: "warn",
    subject: publication,
    message: `publication ${publication} hands on the rows of ${table}: whoever subscribes to it has every tenant's`,
    mend: mends[part],
  };
}

/** TRUNCATE asks no policy. */
function ofGrant({ table, grantee, privileges }: WideGrant): Finding {
  const empties = privileges.split(", ").includes("truncate");
  return {
    code: "table_grants",
    severity: empties ? "refuse" : "warn",
    subject: table,
    message: `${grantee} has ${privileges} on ${table}: ${empties ? "row-level security does not bind TRUNCATE, which takes every tenant's rows" : "more than keeping one tenant's rows takes"}`,
    mend: `revoke ${privileges} on ${table} from ${grantee}`,
  };
}

function ofSequence({ table, sequence, grantees }: SequenceGrant): Finding {
  const to = grantees.join(", ");
  return {
    code: "sequence_grants",
    severity: "warn",
    subject: sequence,
    message: `${to} may read or set sequence ${sequence} of ${table}: its last value tells how many rows all tenants have made`,
    mend: `revoke select, update on sequence ${sequence} from ${to}; grant usage on sequence ${sequence} to ${to}`,
  };
}

/** The comparison of an enum is not leakproof, so Postgres makes it only after the policy has let a row pass. */
function ofEnum({ table, column, type, labels, preset }: EnumColumn): Finding {
  const code: FindingCode = "enum_column";
  const kept = preset === null ? [] : [`alter ${column} set default ${preset}`];
  return {
    code,
    severity: "warn",
    subject: `${table}.${column}`,
    message: `${table}.${column} is ${type}, an enum: under row-level security no index serves a condition on it`,
    mend: `alter table ${table} ${[
      ...(preset === null ? [] : [`alter ${column} drop default`]),
      `alter ${column} type text using ${column}::text`,
      ...kept,
      `add check (${column} in (${labels}))`,
    ].join(", ")}`,
  };
}
