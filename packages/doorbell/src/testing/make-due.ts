// Time, for tests of jobs that are due later. Postgres's clock decides what is due, and no test can turn it; so the jobs
// are moved instead.
import type { TestDatabase } from "./database.ts";

/** What the helpers need of a database: a superuser's query. */
export type Queried = Pick<TestDatabase, "query">;

/**
 * Makes a job due now, whatever it waits for by the clock: `runAfter`, a retry's pause, `snooze`, `job.sleep`. False: no
 * such job is queued. It does not end a wait for an event, a child, or a person.
 */
export async function makeDue(database: Queried, tenant: string, id: string): Promise<boolean> {
  const rows = await database.query(
    `with due as (
       update doorbell.jobs set run_after = least(run_after, now())
        where tenant_id = $1 and id = $2 and state = 'queued' returning tenant_id, id),
     bell as (
       update doorbell.doorbells d set ring_at = now() from due
        where d.tenant_id = due.tenant_id and d.job_id = due.id and d.turn is null and d.ring_at > now()),
     step as (
       update doorbell.steps s set until = least(s.until, now()) from due
        where s.tenant_id = due.tenant_id and s.job_id = due.id and s.type = 'sleep' and not s.done)
     select from due`,
    [tenant, id],
  );
  return rows.length > 0;
}
