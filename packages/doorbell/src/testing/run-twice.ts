// Runs a job again and again, each time with a process that dies at another moment, and compares what came of it with a
// run that nothing disturbed. What it finds wrong it says in words of the handler: run-twice-findings.ts.
import { setTimeout as sleep } from "node:timers/promises";
import type { EnqueueOptions } from "../client/request.ts";
import { newId } from "../core/ids.ts";
import { createDoorbell, type Doorbell } from "../doorbell.ts";
import { sweepOnce } from "../maintenance/sweeper.ts";
import type { EffectState } from "../store/ledger.ts";
import { createLog } from "../telemetry/log.ts";
import type { Handler } from "../worker/handler.ts";
import { createWorker, type Worker, type WorkerOptions } from "../worker/worker.ts";
import { CutWatch, type JobRecord, type Moment, recordName } from "./cut-watch.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import { makeDue } from "./make-due.ts";
import { OutsideCalls, watchOutsideCalls } from "./outside-calls.ts";
import { compareCut, compareUncut, type Ended, Findings } from "./run-twice-findings.ts";

/** One job of one run. */
export interface RunTwiceJob {
  /** Another one in each run, so that no run sees what an earlier one has left. */
  readonly tenant: string;
  /** The same for both tenants of a run. */
  readonly id: string;
  readonly doorbell: Doorbell;
}

export interface RunTwiceOptions {
  /** Default: one of its own, dropped at the end. Give one that your own tables are in; the harness makes tenants of its own in it. */
  readonly database?: Pick<TestDatabase, "appUrl" | "query">;
  /** Default: opened on the database. Give one with your `tenantSetting` and objects. */
  readonly doorbell?: Doorbell;
  readonly worker?: Pick<WorkerOptions, "smtpUrl" | "allowPrivateWebhooks" | "secretKeys" | "transactionsMax">;
  /** Called before a job is enqueued, for what the handler finds under its tenant. */
  readonly setUp?: (job: RunTwiceJob) => Promise<void> | void;
  /** What else the job is enqueued with, such as its object. */
  readonly enqueue?: (job: RunTwiceJob) => Promise<ExtraOptions> | ExtraOptions;
  /** Handlers of jobs that this one enqueues; they are run as well, and are not cut. */
  readonly others?: readonly Handler[];
  /** What a person says of an effect in doubt. Default: "completed", with its value, if its call had returned; else "not_done". */
  readonly answer?: (effect: {
    readonly tenant: string;
    readonly key: string;
    readonly called: boolean;
  }) => "completed" | "not_done";
  /** Ids of what a receiver of yours has for a tenant, such as webhook ids and Message-IDs; repeats may be there. */
  readonly received?: (tenant: string) => readonly string[];
  /** Takes out of a result what may differ between two jobs. Ids and tenants of the runs are taken out already. */
  readonly normalise?: (result: unknown, job: RunTwiceJob) => unknown;
  /** For each run. Default 20 s. */
  readonly timeoutMs?: number;
}

type ExtraOptions = Pick<EnqueueOptions, "object" | "objectKey" | "priority">;

export interface Cut {
  /** Such as `after_call charge`. */
  readonly at: string;
  /** How the job ended after another worker had taken it over. */
  readonly state: string;
  /** Answers that were given about effects in doubt, as `key: answer`. */
  readonly answers: readonly string[];
  /** Calls with an idempotency key that its receiver had seen, which it is trusted to drop. */
  readonly repeats: number;
}

export interface RunTwiceReport {
  readonly cuts: readonly Cut[];
  /** One for each thing that is to be changed, with what to change. */
  readonly failures: readonly string[];
}

/** Thrown when something was found. */
export class RunTwiceFailed extends Error {
  override readonly name = "RunTwiceFailed";
  readonly report: RunTwiceReport;

  constructor(report: RunTwiceReport) {
    super(`the handler does not survive being run twice:\n${report.failures.map((one) => `- ${one}`).join("\n")}`);
    this.report = report;
  }
}

/**
 * Proves that a handler survives the death of its process at every moment. Give a function instead of a handler to make a
 * new one for each worker, as a new process would; else what it keeps in memory is there after the "death".
 * `input`: the payload, or what makes it for each run. Throws RunTwiceFailed. One call at a time in a process.
 */
export async function runTwice(
  handler: Handler | (() => Handler | Promise<Handler>),
  input: unknown | ((job: RunTwiceJob) => unknown),
  options: RunTwiceOptions = {},
): Promise<RunTwiceReport> {
  const own = options.database === undefined ? await createTestDatabase() : null;
  const database = options.database ?? (own as TestDatabase);
  const opened =
    options.doorbell ?? (await createDoorbell({ databaseUrl: database.appUrl, log: createLog({ level: "silent" }) }));
  const stopWatching = watchOutsideCalls();
  try {
    const make = async (): Promise<Handler> => (typeof handler === "function" ? await handler() : handler);
    const report = await runAll({ make, input, options, database, doorbell: opened });
    if (report.failures.length > 0) throw new RunTwiceFailed(report);
    return report;
  } finally {
    stopWatching();
    if (options.doorbell === undefined) await opened.close();
    await own?.drop();
  }
}

interface Harness {
  readonly make: () => Promise<Handler>;
  readonly input: unknown;
  readonly options: RunTwiceOptions;
  readonly database: Pick<TestDatabase, "appUrl" | "query">;
  readonly doorbell: Doorbell;
}

async function runAll(harness: Harness): Promise<RunTwiceReport> {
  const findings = new Findings();
  // Each tenant alone, and the first once more, to see what changes by itself.
  const first = await run(harness, ["a"], null, findings);
  const second = await run(harness, ["b"], null, findings);
  const again = await run(harness, ["a"], null, findings);
  compareUncut(findings, first.ended[0], again.ended[0]);
  const cuts: Cut[] = [];
  if (findings.isEmpty) {
    const uncut = [first.ended[0], second.ended[0]];
    const moments = Math.max(...uncut.map((one) => one?.record.moments.length ?? 0));
    for (let cutAt = 0; cutAt < moments; cutAt += 1) {
      const cut = await run(harness, ["a", "b"], cutAt, findings);
      for (const [index, ended] of cut.ended.entries()) compareCut(findings, uncut[index], ended);
      cuts.push(cut.told);
    }
  }
  return { cuts, failures: findings.all };
}

async function run(
  { make, input, options, database, doorbell }: Harness,
  names: readonly string[],
  cutAt: number | null,
  findings: Findings,
): Promise<{ readonly ended: readonly Ended[]; readonly told: Cut }> {
  const id = newId();
  const jobs: RunTwiceJob[] = names.map((name) => ({ tenant: `run-${id.slice(-12)}-${name}`, id, doorbell }));
  const tenants = jobs.map((job) => job.tenant);
  const records = new Map(
    jobs.map(({ tenant }): [string, JobRecord] => [
      recordName(tenant, id),
      { moments: [], calls: [], probed: new Set(), cut: null },
    ]),
  );
  const recordOf = (tenant: string): JobRecord => records.get(recordName(tenant, id)) as JobRecord;
  const outside = new OutsideCalls();
  const answers: string[] = [];

  const start = async (watch: CutWatch): Promise<Worker> => {
    const handler = await make();
    const watched: Handler = { ...handler, run: (job) => outside.inHandler(() => handler.run(job)) };
    const worker = createWorker(doorbell.client, [watched, ...(options.others ?? [])], {
      ...options.worker,
      lease: "1m",
      byHand: true,
      watch,
    });
    await worker.start();
    return worker;
  };

  for (const job of jobs) {
    await options.setUp?.(job);
    const payload = typeof input === "function" ? await input(job) : input;
    const { definition } = await make();
    const extra = (await options.enqueue?.(job)) ?? {};
    // A death costs an attempt, and is not what the policy's number is about.
    const maxAttempts = Math.min(1_000, definition.retry.maxAttempts + 2);
    await doorbell.enqueue(definition, payload as never, { ...extra, tenant: job.tenant, id, maxAttempts });
  }

  const until = performance.now() + (options.timeoutMs ?? 20_000);
  const answer = async (effect: EffectState & { readonly tenant_id: string }): Promise<void> => {
    const { tenant_id: tenant, job_id: job, key, idempotency_key: name } = effect;
    const made = job === id ? recordOf(tenant).calls.find((call) => call.idempotencyKey === name) : undefined;
    const called = made !== undefined;
    const said = options.answer?.({ tenant, key, called }) ?? (called ? "completed" : "not_done");
    answers.push(`${key}: ${said}`);
    const value = said === "completed" && made?.value !== undefined ? JSON.stringify(made.value) : null;
    await database.query("select doorbell.resolve_effect($1, $2, $3, $4, $5, 'as it was recorded', 'run-twice')", [
      tenant,
      job,
      key,
      said,
      value,
    ]);
  };

  /** Runs what is open until nothing is, or all that is has been cut. */
  const drive = async (worker: Worker): Promise<boolean> => {
    while (performance.now() < until) {
      const open = await database.query<{ tenant: string; id: string; state: string }>(
        "select tenant_id as tenant, id, state from doorbell.jobs where tenant_id = any($1) and kind = any($2)",
        [tenants, worker.kinds],
      );
      const going = open.filter((job) => job.id !== id || recordOf(job.tenant).cut === null || job.state !== "claimed");
      if (going.length === 0) return true;
      const queued = going.filter(({ state }) => state === "queued");
      for (const job of queued) await makeDue(database, job.tenant, job.id);
      await worker.claim(queued.map((job) => ({ job_id: job.id, tenant_id: job.tenant })));
      for (const job of going.filter(({ state }) => state === "waiting")) {
        const doubts = await database.query<EffectState & { readonly tenant_id: string }>(
          `select * from doorbell.effect_states
            where tenant_id = $1 and job_id = $2 and coalesce(outcome, 'unknown') = 'unknown'`,
          [job.tenant, job.id],
        );
        for (const effect of doubts) await answer(effect);
      }
      if (queued.length === 0) await sleep(5);
    }
    return false;
  };

  if (cutAt !== null) {
    const dying = new CutWatch(records, outside, cutAt);
    const worker = await start(dying);
    if (!(await drive(worker))) findings.stuck(options.timeoutMs ?? 20_000, jobs[0]);
    dying.die();
    for (const since = performance.now(); dying.calling > 0 && performance.now() < since + 5_000; ) await sleep(5);
    await worker.abandon();
    await bury(database, tenants);
    await sweepOnce(doorbell.client.database);
  }
  // What is recorded of the first life stays; what the second comes to follows it.
  const cuts = new Map([...records].map(([name, record]) => [name, record.cut]));
  for (const record of records.values()) record.cut = null;
  const worker = await start(new CutWatch(records, outside, null));
  if (!(await drive(worker))) findings.stuck(options.timeoutMs ?? 20_000, jobs[0]);
  await worker.drain();
  for (const [name, record] of records) record.cut = cuts.get(name) ?? null;
  for (const call of outside.all) findings.outside(call);

  const ended: Ended[] = [];
  for (const job of jobs) ended.push(await look(database, job, recordOf(job.tenant), options));
  const strangers = await database.query<{ tenant_id: string }>(
    "select distinct tenant_id from doorbell.effects where job_id = $1 and not tenant_id = any($2)",
    [id, tenants],
  );
  for (const { tenant_id } of strangers) findings.crossed(tenant_id);
  const cut = ended.map(({ record }) => record.cut).find((moment) => moment !== null);
  const repeats = ended.reduce(
    (sum, { record }) => sum + record.calls.length - new Set(record.calls.map((call) => call.idempotencyKey)).size,
    0,
  );
  return { ended, told: { at: cut ? nameOf(cut) : "not reached", state: ended[0]?.state ?? "gone", answers, repeats } };
}

function nameOf({ moment, key }: Moment): string {
  return key === null ? moment : `${moment} ${key}`;
}

/** What Postgres does when a process is gone: its connections end, and so do its transactions; its leases run out. */
async function bury(database: Pick<TestDatabase, "query">, tenants: readonly string[]): Promise<void> {
  const sessions = "from pg_stat_activity where datname = current_database() and application_name like 'doorbell %'";
  for (const until = performance.now() + 5_000; performance.now() < until; await sleep(5)) {
    const left = await database.query(`select pg_terminate_backend(pid) ${sessions}`);
    if (left.length === 0) break;
  }
  await database.query(
    "update doorbell.jobs set lease_until = now() - interval '1 s' where tenant_id = any($1) and state = 'claimed'",
    [tenants],
  );
}

async function look(
  database: Pick<TestDatabase, "query">,
  job: RunTwiceJob,
  record: JobRecord,
  { normalise = (result) => result, received }: RunTwiceOptions,
): Promise<Ended> {
  const { tenant, id } = job;
  const [row] = await database.query<{ state: string; result: unknown; last_error: string | null }>(
    "select state, result, last_error from doorbell.all_jobs where tenant_id = $1 and id = $2",
    [tenant, id],
  );
  const usage = await database.query<{ meter: string; amount: string }>(
    "select meter, sum(amount)::text as amount from doorbell.usage_counters where tenant_id = $1 group by 1 order by 1",
    [tenant],
  );
  const plain = (value: unknown): string =>
    (JSON.stringify(value) ?? "null").replaceAll(id, "<job>").replaceAll(tenant, "<tenant>");
  return {
    state: row?.state ?? "gone",
    result: plain(row?.state === "done" ? normalise(row.result, job) : (row?.last_error ?? null)),
    usage: plain(usage.map(({ meter, amount }) => `${meter}: ${amount}`)),
    received: received === undefined ? null : [...received(tenant)],
    record,
  };
}
