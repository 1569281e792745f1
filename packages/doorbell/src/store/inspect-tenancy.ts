// What can be seen of signed tenancy, as whoever is connected.
import type { Tx } from "./database.ts";

export async function isSigned(tx: Tx): Promise<boolean> {
  const [row] = await tx.query<{ signed: boolean }>("select doorbell.is_signed() as signed");
  return row?.signed === true;
}

/** The tenant whose rows this transaction may read. Null: none. */
export async function tenantInForce(tx: Tx): Promise<string | null> {
  const [row] = await tx.query<{ tenant: string | null }>("select doorbell.tenant() as tenant");
  return row?.tenant ?? null;
}

/** The login as it is written in SQL, and whether it may claim. */
export async function whoMayClaim(tx: Tx): Promise<{ readonly login: string; readonly claims: boolean }> {
  const [row] = await tx.query<{ login: string; claims: boolean }>(
    "select quote_ident(session_user) as login, pg_has_role(session_user, 'doorbell_worker', 'member') as claims",
  );
  return row ?? { login: "", claims: false };
}
