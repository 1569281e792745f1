// What the database says: jobs, dead letters, the ledger, the heartbeats of workers.
import { createDoorbell, createLog } from "doorbell-jobs";

export interface JobState {
  readonly id: string;
  readonly state: string;
  readonly attempts: number;
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

/** What a worker says of itself every two seconds; one that was killed has said it for the last time. */
export interface Heartbeat {
  readonly worker: string;
  readonly at: string;
  /** Doorbells that came to nothing, since it began. */
  readonly doorbellsDropped: number;
}

const jobsSql = "select id, state, attempts from doorbell.all_jobs where tenant_id = $1 and kind = 'invoice.extract'";

const deadLettersSql =
  "select id, error_code as code, last_error as error from doorbell.dead_letters where tenant_id = $1 order by failed_at";

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

const heartbeatsSql = `
select id as worker, seen_at::text as at, doorbells_dropped::int as "doorbellsDropped"
  from doorbell.workers where id = any ($1)`;

/** Everything is read on Doorbell's own client, under the clamp of the account that is asked about. */
export interface LedgerReader {
  jobs(account: string): Promise<readonly JobState[]>;
  deadLetters(account: string): Promise<readonly DeadLetter[]>;
  workOf(worker: string, account: string): Promise<WorkInHand>;
  count(account: string): Promise<LedgerCount>;
  /** The last of each of these workers. It is no tenant's. */
  heartbeats(workers: readonly string[]): Promise<readonly Heartbeat[]>;
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
    heartbeats: (workers) => doorbell.client.database.query<Heartbeat>(heartbeatsSql, [workers]),
    close: () => doorbell.close(),
  };
}

function first<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new Error("a count came back without a row");
  return row;
}
