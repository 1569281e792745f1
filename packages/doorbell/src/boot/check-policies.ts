// Whether the policies of a user's table let exactly one tenant's rows pass, and do not fail where there is none. They are
// read as text: what a policy really does, check-rows.ts tries.
import type { Command, UserPolicy, UserTable } from "../store/inspect-user-tables.ts";
import type { Finding, FindingCode } from "./finding.ts";
import {
  castsAsItIs,
  isProven,
  mentions,
  provenTenant,
  repaired,
  requires,
  settingAsText,
  settingAsUuid,
} from "./policy-text.ts";

const commandNames: Readonly<Record<Command, string>> = { r: "select", a: "insert", w: "update", d: "delete" };

/** What policies are to go by. */
export interface TenantSource {
  /** Letters, digits, underscores and dots. */
  readonly setting: string;
  /** Tenancy is signed, and a setting alone is nobody's word. */
  readonly signed: boolean;
}

export function checkPolicies(table: UserTable, source: TenantSource): readonly Finding[] {
  const { setting } = source;
  return [
    ...uncovered(table, source),
    ...table.policies.filter(({ applies }) => applies).flatMap((policy) => frozen(table, policy)),
    ...table.policies.flatMap((policy) => {
      if (!policy.permissive || !policy.applies) return policy.applies ? fragile(table, policy, setting) : [];
      if (isOpen(table, policy, setting)) return [open(table, policy, source)];
      return [...fragile(table, policy, setting), ...(source.signed ? movable(table, policy) : [])];
    }),
  ];
}

/** What keeps a table to one tenant. */
export function soundCondition(
  { tenantColumn }: Pick<UserTable, "tenantColumn">,
  { setting, signed }: TenantSource,
): string {
  const { name, type } = tenantColumn ?? { name: "tenant_id", type: "text" };
  if (signed) return `${name} = ${provenTenant}${type === "uuid" ? "::uuid" : ""}`;
  return `${name} = ${type === "uuid" ? settingAsUuid(setting) : settingAsText(setting)}`;
}

const covers = (policy: UserPolicy, command: Command): boolean => policy.command === "*" || policy.command === command;

/** Postgres answers with no rows, or refuses to write, where no policy applies: safe, but hardly meant. */
function uncovered(table: UserTable, source: TenantSource): readonly Finding[] {
  const applied = table.policies.filter((policy) => policy.permissive && policy.applies);
  const missing = table.granted.filter((command) => !applied.some((policy) => covers(policy, command)));
  if (missing.length === 0) return [];
  const condition = soundCondition(table, source);
  const made =
    missing.length === table.granted.length
      ? [`create policy tenant_only on ${table.name} using (${condition}) with check (${condition})`]
      : missing.map(
          (command) =>
            `create policy tenant_only_${commandNames[command]} on ${table.name} for ${commandNames[command]}${clauses(command, condition, condition)}`,
        );
  const names = missing.map((command) => commandNames[command]).join(", ");
  return [
    finding(
      "policy_missing",
      table,
      `the login may ${names} on ${table.name}, and no policy for that applies to it: it will find nothing, and write nothing`,
      made.join("; "),
      "warn",
    ),
  ];
}

/** A condition that does not mention the setting binds nobody, unless a restrictive policy does. */
function isOpen(table: UserTable, policy: UserPolicy, setting: string): boolean {
  const commands: readonly Command[] = policy.command === "*" ? ["r", "a", "w", "d"] : [policy.command];
  const bound = (command: Command): boolean =>
    table.policies.some(
      (other) => !other.permissive && other.applies && covers(other, command) && !lacksSetting(other, setting),
    );
  return lacksSetting(policy, setting) && !commands.every(bound);
}

function lacksSetting(policy: UserPolicy, setting: string): boolean {
  return [policy.using, policy.check].some((condition) => ignores(condition, policy, setting));
}

function ignores(condition: string | null, { calls }: UserPolicy, setting: string): boolean {
  return condition !== null && condition !== "false" && !mentions(`${condition} ${calls}`, setting);
}

function open(table: UserTable, policy: UserPolicy, source: TenantSource): Finding {
  const { setting } = source;
  const { name, using, check } = policy;
  const condition = [using, check].find((one) => ignores(one, policy, setting));
  return finding(
    "policy_open",
    table,
    `policy ${name} of ${table.name} lets rows pass without a look at ${setting} (${condition}): those of every tenant`,
    mendOf(table, policy, source),
  );
}

/** Sound, but for what it does where there is no tenant. */
function fragile(table: UserTable, policy: UserPolicy, setting: string): readonly Finding[] {
  const conditions = `${policy.using} ${policy.check}`;
  const mend = mendOf(table, policy, { setting, signed: false });
  const of = `policy ${policy.name} of ${table.name}`;
  if (castsAsItIs(conditions, setting)) {
    const what = `${of} casts ${setting} to uuid as it is: it is the empty string once a pooled connection has carried a tenant, and every statement without one fails with 22P02`;
    return [finding("policy_cast", table, what, mend)];
  }
  if (requires(conditions, setting)) {
    const what = `${of} requires ${setting} to be set: on a new connection every statement without a tenant fails with 42704`;
    return [finding("policy_strict", table, what, mend)];
  }
  return [];
}

/** Whoever can run SQL can set what it believes, unless a restrictive policy asks for more. */
function movable(table: UserTable, policy: UserPolicy): readonly Finding[] {
  const proven = ({ using, check }: UserPolicy): boolean =>
    [using, check].every((condition) => condition === null || condition === "false" || isProven(condition));
  const bound = table.policies.some(
    (other) => !other.permissive && other.applies && other.command === "*" && proven(other),
  );
  if (proven(policy) || bound) return [];
  const { name, command, using, check } = policy;
  const condition = soundCondition(table, { setting: "", signed: true });
  const sound = (given: string | null): string | null => (given === null || given === "false" ? given : condition);
  return [
    finding(
      "policy_movable",
      table,
      `tenancy is signed, and policy ${name} of ${table.name} believes a bare setting: SQL that somebody injects can set it to any tenant`,
      `alter policy ${name} on ${table.name}${clauses(command, sound(using), sound(check))}`,
    ),
  ];
}

/** Its answer may be put into a plan, and the plan kept for the next tenant on the connection. */
function frozen(table: UserTable, policy: UserPolicy): readonly Finding[] {
  return policy.frozen.map((signature) =>
    finding(
      "policy_frozen",
      table,
      `policy ${policy.name} of ${table.name} calls ${signature}, which reads a setting and is marked IMMUTABLE: a prepared statement shows one tenant's rows to the next`,
      `alter function ${signature} stable`,
    ),
  );
}

/** Keeps what is sound of its conditions. */
function mendOf(table: UserTable, policy: UserPolicy, source: TenantSource): string {
  const { setting } = source;
  const sound = (condition: string | null): string | null => {
    if (ignores(condition, policy, setting)) return soundCondition(table, source);
    return condition === null ? null : repaired(condition, setting);
  };
  return `alter policy ${policy.name} on ${table.name}${clauses(policy.command, sound(policy.using), sound(policy.check))}`;
}

function clauses(command: Command | "*", using: string | null, check: string | null): string {
  const usable = command === "a" ? null : using;
  const checkable = command === "r" || command === "d" ? null : check;
  return `${usable === null ? "" : ` using (${usable})`}${checkable === null ? "" : ` with check (${checkable})`}`;
}

function finding(
  code: FindingCode,
  { name: subject }: UserTable,
  message: string,
  mend: string,
  severity: Finding["severity"] = "refuse",
): Finding {
  return { code, severity, subject, message, mend };
}
