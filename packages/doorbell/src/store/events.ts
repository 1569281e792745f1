// The statement that emits an event. Scalars only as parameters, so that it runs on any client.
import { DoorbellError } from "../core/errors.ts";
import type { Tx } from "./database.ts";
import { ourSetting, type Tenancy } from "./tenancy.ts";

export interface Emitted {
  readonly woken: number;
  /** Where the jobs that it woke are in the line, once its transaction has committed. */
  readonly lanes: readonly string[];
  /** The transaction that holds it, for pg_xact_status. */
  readonly xid: string;
}

// As for enqueue: a clamp on another tenant is looked at first, for an error would cost the caller the transaction; and a
// token, where tenancy is signed, is in force for this statement alone.
const emitSql = `
select e.woken, to_json(e.lanes)::text as lanes, pg_current_xact_id()::text as xid,
       set_config('doorbell.token', admitted.old_token, true) as token
  from (select $1::text as tenant, current_setting('doorbell.token', true) as old_token,
               set_config('doorbell.token', coalesce($5, current_setting('doorbell.token', true)), true) as token
         where $1 = coalesce(nullif(current_setting('doorbell.tenant_id', true), ''), $1)
           and $1 = coalesce(nullif(current_setting($4, true), ''), $1) offset 0) admitted
 cross join lateral doorbell.emit(admitted.tenant, $2, ($3::text)::jsonb) e`;

/** `payload` is JSON text; null for none. Throws tenant_mismatch. */
export async function emit(
  tx: Tx,
  tenant: string,
  event: string,
  payload: string | null,
  { setting, sign }: Tenancy,
): Promise<Emitted> {
  const [row] = await tx.query<{ readonly woken: number; readonly lanes: string; readonly xid: string }>(emitSql, [
    tenant,
    event,
    payload,
    setting ?? ourSetting,
    sign?.(tenant) ?? null,
  ]);
  if (row === undefined) {
    throw new DoorbellError(
      "tenant_mismatch",
      `event "${event}" for tenant "${tenant}" was not emitted: the transaction is clamped to another tenant`,
    );
  }
  return { woken: row.woken, lanes: JSON.parse(row.lanes) as readonly string[], xid: row.xid };
}
