// Functions beside ours through which the login gets past row-level security, and schemas in which others may put theirs.
import type { Tx } from "../store/database.ts";
import {
  type CallableFunction,
  inspectCallable,
  inspectSearchPath,
  inspectTemporary,
} from "../store/inspect-functions.ts";
import type { Finding } from "./finding.ts";

/** `tables`: a user's, by their oids, whose owners' functions have to look names up in one place. */
export async function checkFunctions(tx: Tx, tables: readonly number[]): Promise<readonly Finding[]> {
  return (await inspectCallable(tx, tables)).flatMap(ofFunction);
}

function ofFunction(one: CallableFunction): readonly Finding[] {
  const { signature, schema, definer, owner, ownerUnbound, ownsTables, pinned, leakproof, grantees } = one;
  const findings: Finding[] = [];
  if (definer && ownsTables && !pinned) {
    findings.push({
      code: "definer_unpinned",
      severity: "warn",
      subject: signature,
      message: `${signature} acts as ${owner}, and looks names up where its caller says: a caller's function could run in its stead`,
      mend: `alter function ${signature} set search_path = pg_catalog, ${schema}, pg_temp`,
    });
  }
  if (definer && ownerUnbound) {
    findings.push({
      code: "definer_unbound",
      severity: "warn",
      subject: signature,
      message: `${signature} acts as ${owner}, whom row-level security does not bind: whatever it reads, it reads of every tenant`,
      mend: `revoke execute on function ${signature} from ${grantees.join(", ")}`,
    });
  }
  if (leakproof) {
    findings.push({
      code: "function_leakproof",
      severity: "refuse",
      subject: signature,
      message: `${signature} is LEAKPROOF: in a condition it may be given the rows of every tenant, before a policy has been asked`,
      mend: `alter function ${signature} not leakproof`,
    });
  }
  return findings;
}

/** Of use to others only where names are written without their schema: ours never are. */
export async function checkSearchPath(tx: Tx): Promise<readonly Finding[]> {
  return (await inspectSearchPath(tx)).map(({ schema, grantees }) => ({
    code: "search_path_open",
    severity: "warn",
    subject: schema,
    message: `${grantees.join(", ")} may make functions and tables in ${schema}, where this login looks names up: one could be taken for another`,
    mend: `revoke create on schema ${schema} from ${grantees.join(", ")}`,
  }));
}

/** Beside tables of a user's: a temporary table has no policies, stays with its connection, and is found first. */
export async function checkTemporary(tx: Tx): Promise<readonly Finding[]> {
  const { database, grantees } = await inspectTemporary(tx);
  if (grantees.length === 0) return [];
  const who = grantees.join(", ");
  return [
    {
      code: "temporary_tables",
      severity: "warn",
      subject: database,
      message: `${who} may make temporary tables: one that stays on a pooled connection is found before a table of that name, and has no policies`,
      mend: `revoke temporary on database ${database} from ${who}`,
    },
  ];
}
