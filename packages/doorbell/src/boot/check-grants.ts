// Whether schema doorbell is as closed as the migration leaves it: who owns and may call the functions, who may write the
// tables, and what the roles may become.
import type { Database, Tx } from "../store/database.ts";
import { qualifyNames } from "../store/inspect.ts";
import {
  type DefaultGrant,
  type FunctionFacts,
  inspectDefaultGrants,
  inspectFunctions,
  inspectMemberships,
  inspectTableGrants,
  type TableGrant,
} from "../store/inspect-grants.ts";
import type { Finding, FindingCode } from "./finding.ts";

export async function checkGrants(database: Database): Promise<readonly Finding[]> {
  return await database.transaction(async (tx) => {
    await qualifyNames(tx);
    return [
      ...(await inspectFunctions(tx)).flatMap(ofFunction),
      ...(await inspectTableGrants(tx)).map(ofTableGrant),
      ...(await inspectDefaultGrants(tx)).map(ofDefaultGrant),
    ];
  });
}

function ofFunction({
  signature,
  definer,
  owner,
  tableOwner,
  pinned,
  public: open,
}: FunctionFacts): readonly Finding[] {
  const findings: Finding[] = [];
  if (definer && !pinned) {
    findings.push(
      refuse(
        "definer_unpinned",
        signature,
        `${signature} acts as ${owner}, and looks names up where its caller says: a caller's function could run in its stead`,
        `alter function ${signature} set search_path = pg_catalog, pg_temp`,
      ),
    );
  }
  if (definer && owner !== tableOwner) {
    findings.push(
      refuse(
        "function_owner",
        signature,
        `${signature} acts as ${owner}, and the tables belong to ${tableOwner}: policies that bind ${tableOwner} say nothing of it`,
        `alter function ${signature} owner to ${tableOwner}`,
      ),
    );
  }
  if (open) {
    findings.push(
      refuse(
        "function_public",
        signature,
        `everybody may call ${signature}`,
        `revoke execute on function ${signature} from public`,
      ),
    );
  }
  return findings;
}

function ofTableGrant({ table, grantee, privileges }: TableGrant): Finding {
  return refuse(
    "table_grants",
    table,
    `${grantee} may ${privileges} on ${table}: only our functions write, and nothing is everybody's`,
    `revoke ${privileges} on ${table} from ${grantee}`,
  );
}

function ofDefaultGrant({ owner, schema, kind, grantee }: DefaultGrant): Finding {
  const where = schema === null ? "" : ` in schema ${schema}`;
  return refuse(
    "default_privileges",
    owner,
    `${grantee} will have rights on ${kind} that ${owner} makes from now on: the next migration would open them`,
    `alter default privileges for role ${owner}${where} revoke all on ${kind} from ${grantee}`,
  );
}

export async function checkMemberships(tx: Tx): Promise<readonly Finding[]> {
  return (await inspectMemberships(tx)).map(({ role, member }) =>
    refuse(
      "role_memberships",
      member,
      `whoever is granted ${member} is granted ${role} with it`,
      `revoke ${role} from ${member}`,
    ),
  );
}

function refuse(code: FindingCode, subject: string, message: string, mend: string): Finding {
  return { code, severity: "refuse", subject, message, mend };
}
