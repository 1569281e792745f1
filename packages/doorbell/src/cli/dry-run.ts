// Runs handlers of settled jobs in this process without leaving a trace, and tells where they would end otherwise than they
// did: `doorbell replay --dry-run --app FILE`.
import type { App } from "../app.ts";
import { loadApp } from "../boot/load-app.ts";
import { resolveSettings, tenancyOptions } from "../config/settings.ts";
import { DoorbellError } from "../core/errors.ts";
import { createDoorbell, type Doorbell } from "../doorbell.ts";
import type { JobRow, JobState } from "../store/jobs.ts";
import { listEffects } from "../store/ledger.ts";
import { createLog } from "../telemetry/log.ts";
import type { Handler } from "../worker/handler.ts";
import { type RehearsalEnd, rehearse } from "../worker/rehearsal.ts";
import { handledBytesMax, requireDatabaseUrl } from "./client.ts";
import { type Difference, differences } from "./differences.ts";
import { withoutWrites } from "./dry-run-doorbell.ts";
import { exitCodes } from "./errors.ts";
import { firstLine, note, print, printJson, printTable } from "./output.ts";
import { type Selection, selectJobs } from "./select-jobs.ts";
import { type Column, printable } from "./table.ts";

export interface DryRunRequest {
  readonly tenant: string;
  readonly selection: Selection;
  readonly app: string;
  readonly concurrency: number;
}

export interface DryRun {
  readonly id: string;
  readonly kind: string;
  readonly object_key: string | null;
  readonly was: JobState;
  readonly now: RehearsalEnd["end"] | "no_handler" | "open";
  /** The first call that is not on record. What the handler would do after it nobody knows. */
  readonly stopped_at: string | null;
  readonly error: string | null;
  readonly differs: readonly Difference[];
}

const columns: readonly Column<DryRun>[] = [
  { title: "job", value: (one) => one.id, whole: true },
  { title: "kind", value: (one) => one.kind },
  { title: "was", value: (one) => one.was },
  { title: "now", value: (one) => one.now },
  { title: "differences", value: (one) => one.differs.length },
  {
    title: "because",
    value: (one) => (one.stopped_at === null ? firstLine(one.error) : `would call ${one.stopped_at}`),
  },
];

const progressEveryMs = 2_000;

/** The exit code is 1 where anything would end otherwise, throws, or stops at a call. */
export async function dryRunSelected(request: DryRunRequest & { readonly json: boolean }): Promise<void> {
  tell(await dryRun(request), request.json);
}

/** In the order of the selection. */
export async function dryRun(request: DryRunRequest): Promise<readonly DryRun[]> {
  const { tenant, selection, concurrency } = request;
  const app = (await loadApp(request.app)) as App;
  const settings = resolveSettings(process.env);
  const databaseUrl = await requireDatabaseUrl(settings);
  const log = createLog({ level: "error", destination: process.stderr });
  const doorbell = await createDoorbell({
    databaseUrl,
    objects: settings.objectsUrl,
    valueMaxBytes: handledBytesMax,
    connectionsMax: concurrency + 2,
    ...tenancyOptions(settings),
    ...(app.tenantSetting !== undefined && { tenantSetting: app.tenantSetting }),
    log,
  });
  try {
    const runtime = {
      doorbell: withoutWrites(doorbell),
      role: "worker" as const,
      env: { ...process.env, DATABASE_URL: databaseUrl },
      log,
    };
    const resources: unknown = await app.resources?.(runtime);
    try {
      const handlers = new Map(app.handlers(resources, runtime).map((one) => [one.definition.kind, one]));
      const jobs = await doorbell.transaction(tenant, (tx) => selectJobs(tx, tenant, selection));
      return await runAll(doorbell, handlers, jobs, concurrency);
    } finally {
      await app.close?.(resources);
    }
  } finally {
    doorbell.metrics.close();
    await doorbell.close();
  }
}

async function runAll(
  doorbell: Doorbell,
  handlers: ReadonlyMap<string, Handler>,
  jobs: readonly JobRow[],
  concurrency: number,
): Promise<readonly DryRun[]> {
  const answers: DryRun[] = new Array(jobs.length);
  let next = 0;
  let finished = 0;
  const progress = setInterval(() => note(`${finished} of ${jobs.length} jobs`), progressEveryMs);
  const runNext = async (): Promise<void> => {
    for (let index = next++; index < jobs.length; index = next++) {
      answers[index] = await runOne(doorbell, handlers, jobs[index] as JobRow);
      finished += 1;
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(concurrency, jobs.length) }, runNext));
  } finally {
    clearInterval(progress);
  }
  return answers;
}

async function runOne(doorbell: Doorbell, handlers: ReadonlyMap<string, Handler>, row: JobRow): Promise<DryRun> {
  const about = { id: row.id, kind: row.kind, object_key: row.object_key, was: row.state };
  const nothing = { stopped_at: null, error: null, differs: [] };
  if (row.finished_at === null) return { ...about, now: "open", ...nothing };
  const handler = handlers.get(row.kind);
  if (handler === undefined) return { ...about, now: "no_handler", ...nothing };
  const { tenant_id: tenant, id } = row;
  const effects = await doorbell.transaction(tenant, (tx) => listEffects(tx, tenant, id, false));
  const { database, tenancy, objects } = doorbell.client;
  const { log } = doorbell;
  const ended = await rehearse(handler, row, effects, {
    database,
    tenancy,
    objects,
    valueMaxBytes: handledBytesMax,
    log,
  });
  return {
    ...about,
    now: ended.end,
    stopped_at: ended.end === "stopped" ? ended.at : null,
    error: ended.end === "threw" ? ended.error : null,
    differs: differs(row, ended),
  };
}

const endOf: Partial<Record<JobState, RehearsalEnd["end"]>> = {
  done: "done",
  cancelled: "cancelled",
  failed: "threw",
  discarded: "threw",
};

function differs({ state, result }: JobRow, ended: RehearsalEnd): readonly Difference[] {
  if (ended.end === "stopped") return [];
  if (ended.end !== endOf[state]) return [{ path: "(end)", stored: state, now: ended.end }];
  return ended.end === "done" ? differences(result, ended.result) : [];
}

function tell(runs: readonly DryRun[], json: boolean): void {
  const isSame = ({ now, differs: found }: DryRun): boolean =>
    (now === "done" || now === "cancelled") && found.length === 0;
  const others = runs.filter((run) => !isSame(run));
  if (json) printJson(runs);
  else if (others.length > 0) printTable(others, columns);
  if (!json) {
    for (const { id, differs: found } of others) {
      for (const { path, stored, now } of found) {
        print(
          printable(`${id}: ${path}: ${JSON.stringify(stored) ?? "nothing"} → ${JSON.stringify(now) ?? "nothing"}`),
        );
      }
    }
  }
  const count = (now: DryRun["now"]): number => runs.filter((run) => run.now === now).length;
  note(
    `${runs.length} jobs: ${runs.length - others.length} end as they did, ${runs.filter((run) => run.differs.length > 0).length} end otherwise, ` +
      `${count("threw")} throw, ${count("stopped")} would call something, ${count("no_handler")} have no handler here, ${count("open")} have not settled; ` +
      "nothing was written, and nothing called through the ledger",
  );
  if (others.length > 0) process.exitCode = exitCodes.failed;
  if (runs.length === 0) throw new DoorbellError("job_not_found", "no job matches: nothing was tried");
}
