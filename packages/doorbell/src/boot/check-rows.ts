// What no catalog tells: that whoever has not clamped, or clamped to a tenant that there is not, sees no row of a table and
// meets no error. Where a table is empty, this proves nothing.
import { describeFailure } from "../core/failure.ts";
import { newId } from "../core/ids.ts";
import { type Database, isDatabaseTrouble } from "../store/database.ts";
import { onlyLook, showsRows } from "../store/glimpse.ts";
import { clamp, ourSetting, tenancyOf } from "../store/tenancy.ts";
import type { Finding } from "./finding.ts";

export interface LookedAt {
  /** As it is written in SQL. */
  readonly table: string;
  /** Null: ours alone. */
  readonly tenantSetting: string | null;
  /** SQL after which it shows nothing of the kind, and after which a look does not fail. */
  readonly mends: { readonly leaks: string; readonly raises: string };
}

/** What Postgres answers where a statement was cancelled, which says nothing of policies. */
const cancelled = "57014";

/** Rejects when it cannot look within 5 s. */
export async function checkRows(database: Database, looked: LookedAt): Promise<readonly Finding[]> {
  let state = "without a tenant";
  const { table, tenantSetting, mends } = looked;
  const setting = tenantSetting ?? ourSetting;
  const tenancy = tenancyOf(tenantSetting);
  try {
    const shown = await database.transaction(async (tx) => {
      await onlyLook(tx);
      if (await showsRows(tx, table)) return true;
      // What a pooled connection is left with by a transaction that was clamped.
      state = `with ${setting} empty`;
      await clamp(tx, "", tenancy);
      if (await showsRows(tx, table)) return true;
      state = "as a tenant that there is not";
      await clamp(tx, newId(), tenancy);
      return await showsRows(tx, table);
    });
    if (!shown) return [];
  } catch (error) {
    if (isDatabaseTrouble(error) || (error as { code?: unknown }).code === cancelled) throw error;
    return [
      {
        code: "table_raises",
        severity: "refuse",
        subject: table,
        message: `a look at ${table} ${state} fails, and does not find nothing: ${describeFailure(error).message}`,
        mend: mends.raises,
      },
    ];
  }
  return [
    {
      code: "table_leaks",
      severity: "refuse",
      subject: table,
      message: `a look at ${table} ${state} shows rows: its policies keep no tenants apart`,
      mend: mends.leaks,
    },
  ];
}
