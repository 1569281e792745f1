// What the database says: jobs, dead letters, the ledger, the workers' own counters. Read on the application's login, one
// account after the other, each under its clamp.
import type pg from "pg";

export interface JobState {
  readonly id: string;
  readonly state: string;
}

export interface DeadLetter {
  readonly id: string;
  readonly code: string | null;
  readonly error: string | null;
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

export class LedgerReader {
  readonly #client: pg.Client;

  constructor(client: pg.Client) {
    this.#client = client;
  }

  jobs(account: string): Promise<readonly JobState[]> {
    return this.#under<JobState>(account, jobsSql);
  }

  deadLetters(account: string): Promise<readonly DeadLetter[]> {
    return this.#under<DeadLetter>(account, deadLettersSql);
  }

  async count(account: string): Promise<LedgerCount> {
    const [row] = await this.#under<LedgerCount>(account, countSql);
    return row as LedgerCount;
  }

  /**
   * Doorbells that came to nothing, as the workers count them themselves; each says so with its heartbeat, the last time
   * before `seenAfter` or its end. Null: one that lives has not said so since.
   */
  async doorbellsDropped(pids: readonly number[], alive: readonly number[], seenAfter: Date): Promise<number | null> {
    const { rows } = await this.#client.query<{ dropped: number; heard: number }>(
      `select coalesce(sum(doorbells_dropped), 0)::int as dropped,
              count(*) filter (where pid = any ($2) and seen_at > $3)::int as heard
         from doorbell.workers where pid = any ($1) and started_at > $3 - interval '1 hour'`,
      [pids, alive, seenAfter],
    );
    const row = rows[0];
    return row === undefined || row.heard < alive.length ? null : row.dropped;
  }

  /** A transaction, because the clamp lasts for one. */
  async #under<Row extends object>(account: string, sql: string): Promise<readonly Row[]> {
    await this.#client.query("begin");
    try {
      await this.#client.query("select set_config('doorbell.tenant_id', $1, true)", [account]);
      return (await this.#client.query<Row>(sql, [account])).rows;
    } finally {
      await this.#client.query("rollback");
    }
  }
}
