// What the database says: jobs, dead letters, the ledger, the workers' own counters.
import { createDoorbell, createLog } from "doorbell-jobs";

interface JobState {
  readonly id: string;
  readonly state: string;
}

export interface DeadLetter {
  readonly id: string;
  readonly code: string | null;
  readonly error: string | null;
}

/** What a worker has in hand of one account. */
interface WorkInHand {
  readonly running: number;
  /** Begun, and without an outcome so far. */
  readonly effectsUnderWay: number;
}

/** Of one account. Effects are counted once, however often they were begun. */
export interface LedgerCount {
  readonly webhooks: number;
  readonly mails: number;
  /** Begun again although nobody knew whether they had happened. */
  readonly overDoubt: number;
  readonly documentsCounted: number;
  readonly attemptsLost: number;
}

const jobsSql = "select id, state from doorbell.all_jobs where tenant_id = $1 and kind = 'invoice.extract'";

const deadLettersSql =
  "select id, error_code as code, last_error as error from doorbell.dead_letters where tenant_id = $1 order by failed_at";

/** Doorbells that came to nothing, as workers count them themselves, and tell with every heartbeat. */
interface DroppedCount {
  /** The one that was killed told so with its last heartbeat. */
  readonly dropped: number;
  /** How many of them have told since. */
  readonly heard: number;
}

const workSql = `
with running as (
  select id from doorbell.jobs where tenant_id = $1 and state = 'claimed' and claimed_by = $2)
select (select count(*) from running)::int as running,
       (select count(*) from doorbell.effect_states
         where tenant_id = $1 and outcome is null and job_id in (select id from running))::int as "effectsUnderWay"`;

const countSql = `
select (select count(distinct (job_id, key)) from doorbell.effects where tenant_id = $1 and type = 'webhook')::int as webhooks,
       (select count(distinct (job_id, key)) from doorbell.effects where tenant_id = $1 and type = 'email')::int as mails,
       (select count(*) from doorbell.effects later
         where tenant_id = $1 and n > 1 and not exists (
           select from doorbell.effect_outcomes o
            where o.tenant_id = $1 and o.job_id = later.job_id and o.key = later.key and o.n = later.n - 1
              and o.outcome = 'not_done'))::int as "overDoubt",
       (select coalesce(sum(amount), 0) from doorbell.usage_counters where tenant_id = $1 and meter = 'documents')::int
         as "documentsCounted",
       (select count(*) from doorbell.attempts where tenant_id = $1 and outcome = 'lost')::int as "attemptsLost"`;

const droppedSql = `
select coalesce(sum(doorbells_dropped), 0)::int as dropped, count(*) filter (where seen_at > $2)::int as heard
  from doorbell.workers
 where pid = any ($1) and started_at > $2::timestamptz - interval '1 hour'`;

/** Everything is read on Doorbell's own client, under the clamp of the account that is asked about. */
export interface LedgerReader {
  jobs(account: string): Promise<readonly JobState[]>;
  deadLetters(account: string): Promise<readonly DeadLetter[]>;
  workOf(worker: string, account: string): Promise<WorkInHand>;
  count(account: string): Promise<LedgerCount>;
  /** Of these processes. It is no tenant's. */
  doorbellsDropped(pids: readonly number[], since: Date): Promise<DroppedCount>;
  close(): Promise<void>;
}

export async function openLedger(databaseUrl: string): Promise<LedgerReader> {
  const doorbell = await createDoorbell({ databaseUrl, log: createLog({ level: "silent" }) });
  const rowsOf = <Row>(account: string, sql: string, ...params: readonly unknown[]): Promise<readonly Row[]> =>
    doorbell.transaction(account, (tx) => tx.query<Row>(sql, [account, ...params]));
  return {
    jobs: (account) => rowsOf(account, jobsSql),
    deadLetters: (account) => rowsOf(account, deadLettersSql),
    workOf: async (worker, account) => first(await rowsOf(account, workSql, worker)),
    count: async (account) => first(await rowsOf(account, countSql)),
    doorbellsDropped: async (pids, since) => first(await doorbell.client.database.query(droppedSql, [pids, since])),
    close: () => doorbell.close(),
  };
}

function first<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new Error("a count came back without a row");
  return row;
}
