// What the rows of a kind prove about it: for `doorbell check`. Each statement looks at the newest jobs only, under the
// tenant's clamp.
import type { Tx } from "./database.ts";

/** How many jobs are looked at: the newest, by id. */
export const checkedJobs = 200;

const recent = `
  recent as (
    select id, kind, state, attempts, object_key, error_code, fingerprint, finished_at from doorbell.all_jobs
     where tenant_id = $1 and kind = $2 and finished_at is not null order by id desc limit ${checkedJobs})`;

export interface SecondRun {
  readonly id: string;
  readonly key: string;
  readonly begun_in: number;
  readonly done_in: number;
}

/** A job that went on to a later attempt with an effect that was completed before, and did not do it again. Null: none. */
export async function skippedEffect(tx: Tx, tenant: string, kind: string): Promise<SecondRun | null> {
  const [row] = await tx.query<SecondRun>(
    `with ${recent}
     select r.id, e.key, e.attempt as begun_in, r.attempts as done_in
       from recent r
       join doorbell.effect_states e on e.tenant_id = $1 and e.job_id = r.id and e.outcome = 'completed' and e.attempt < r.attempts
      where r.state = 'done' order by r.id desc, e.key limit 1`,
    [tenant, kind],
  );
  return row ?? null;
}

/** An effect that was begun again although it was completed, and no person had asked for it. Null: none, as it must be. */
export async function repeatedEffect(
  tx: Tx,
  tenant: string,
  kind: string,
): Promise<{ readonly id: string; readonly key: string } | null> {
  const [row] = await tx.query<{ id: string; key: string }>(
    `with ${recent}
     select r.id, e.key
       from recent r
       join doorbell.effects e on e.tenant_id = $1 and e.job_id = r.id
       join doorbell.effect_outcomes o on o.tenant_id = $1 and o.job_id = e.job_id and o.key = e.key and o.n = e.n
                                      and o.outcome = 'completed'
       join doorbell.effects later on later.tenant_id = $1 and later.job_id = e.job_id and later.key = e.key and later.n = e.n + 1
                                  and later.begun_at > o.at
      where not exists (select from doorbell.effect_outcomes p
                         where p.tenant_id = $1 and p.job_id = e.job_id and p.key = e.key and p.n = e.n + 1 and p.source = 'person')
      limit 1`,
    [tenant, kind],
  );
  return row ?? null;
}

/**
 * How much the newest jobs that are done have said: how many lines, and whether none is of the last attempt. Of the last
 * second none: lines come a moment after the end.
 */
export function toldAttempts(
  tx: Tx,
  tenant: string,
  kind: string,
): Promise<readonly { readonly id: string; readonly lines: number; readonly silent: boolean }[]> {
  return tx.query(
    `with ${recent}
     select r.id, count(l.n) as lines, count(l.n) filter (where l.attempt = r.attempts) = 0 as silent
       from recent r left join doorbell.job_logs l on l.tenant_id = $1 and l.job_id = r.id
      where r.state = 'done' and r.finished_at < now() - interval '1 s' group by r.id, r.attempts order by r.id desc`,
    [tenant, kind],
  );
}
