// Two things about the clamp that no catalog tells, so they are tried: that it ends with its transaction, through whatever
// stands before Postgres, and that a statement for many tenants moves it as it must.

import type { Database, Tx } from "../store/database.ts";
import { canary, currentClamp, functionsNotGranted, settingsOwners } from "../store/inspect.ts";
import { clamp, tenancyOf } from "../store/tenancy.ts";
import type { Finding } from "./finding.ts";

const nobody = "doorbell:doctor";

/** Looks at two connections at once, after a clamped transaction on one of them. The pool must have two. */
export async function checkCheckout(database: Database, setting: string): Promise<readonly Finding[]> {
  await database.transaction((tx) => clamp(tx, nobody, tenancyOf(setting)));
  const look = (tx: Tx): Promise<string> => currentClamp(tx, setting);
  const found = await Promise.all([database.transaction(look), database.transaction(look)]);
  const stale = found.find((tenant) => tenant !== "");
  if (stale === undefined) return [];
  const { database: name, login } = await settingsOwners(database);
  const reset = `reset ${setting}`;
  return [
    {
      code: "clamp_stays",
      severity: "refuse",
      subject: setting,
      message:
        stale === nobody
          ? `${setting} outlives its transaction: the next user of the connection would act for a tenant of somebody else`
          : `${setting} has a value on a new connection: whoever forgets to clamp would act for that tenant`,
      mend: `alter database ${name} ${reset}; alter role ${login} ${reset}; alter role ${login} in database ${name} ${reset} -- and no pooler that rewrites SET`,
    },
  ];
}

export async function checkCanary(database: Database): Promise<readonly Finding[]> {
  const denied = await functionsNotGranted(database, ["canary"]);
  if (denied.length > 0 || (await canary(database))) return [];
  return [
    {
      code: "claims_nothing",
      severity: "refuse",
      subject: "doorbell.claim",
      message: "on this server a claim for several tenants passes over jobs that are there: workers would stand idle",
      mend: "doorbell migrate; then look for planner settings of the role or database (enable_nestloop, enable_indexscan)",
    },
  ];
}
