// `doorbell jobs`: one tenant's jobs, open and settled.
import { Command, Option } from "commander";
import { DoorbellError } from "../core/errors.ts";
import { cancel, type JobFilter, type JobState, listJobs } from "../store/jobs.ts";
import { listWorkers } from "../store/maintenance.ts";
import {
  jobArgument,
  jsonOption,
  kindOption,
  pageOptions,
  reasonOption,
  sinceOption,
  tenantOption,
} from "./arguments.ts";
import { asTenant, noSuchJob } from "./client.ts";
import { jobShowCommand } from "./job-show.ts";
import { firstLine, instant, note, noteMore, print, printJson, printList } from "./output.ts";
import { type ShownJob, shownJob, shownState } from "./shown-job.ts";
import type { Column } from "./table.ts";

const states: readonly JobState[] = ["queued", "claimed", "waiting", "done", "failed", "cancelled", "discarded"];

const columns: readonly Column<ShownJob>[] = [
  { title: "job", value: (job) => job.id, whole: true },
  { title: "kind", value: (job) => job.kind },
  { title: "state", value: shownState, whole: true },
  { title: "attempts", value: (job) => `${job.attempts}/${job.max_attempts}` },
  { title: "created", value: (job) => instant(job.created_at) },
  { title: "finished", value: (job) => instant(job.finished_at) },
  { title: "object", value: (job) => job.object_key },
  { title: "error", value: (job) => firstLine(job.last_error) },
];

export function jobsCommand(): Command {
  return new Command("jobs")
    .description("one tenant's jobs, open and settled")
    .addCommand(listCommand())
    .addCommand(jobShowCommand())
    .addCommand(cancelCommand());
}

interface ListGiven extends JobFilter {
  readonly tenant: string;
  readonly json?: boolean;
}

function listCommand(): Command {
  const command = new Command("list")
    .description("newest first")
    .addOption(tenantOption())
    .addOption(new Option("--state <state>", "in this state").choices(states))
    .addOption(kindOption("of this kind"))
    .option("--object-key <key>", "with this object as input")
    .addOption(sinceOption("created since"));
  for (const option of pageOptions()) command.addOption(option);
  return command.addOption(jsonOption()).action(async ({ tenant, json = false, ...filter }: ListGiven) => {
    const jobs = await asTenant(tenant, async (tx) => {
      const workers = await listWorkers(tx);
      return (await listJobs(tx, tenant, filter)).map((job) => shownJob(job, workers));
    });
    printList(jobs, columns, { json, empty: "no jobs" });
    if (json) return;
    noteMore(jobs, filter.limit);
    const waiting = jobs.filter((job) => job.state === "queued" && job.workers === 0);
    for (const what of new Set(waiting.map(({ kind, lane }) => `kind ${kind} on lane ${lane}`))) {
      note(`no live worker knows ${what}: its jobs wait for one, and lose no attempt`);
    }
  });
}

interface CancelGiven {
  readonly tenant: string;
  readonly reason?: string;
  readonly json?: boolean;
}

function cancelCommand(): Command {
  return new Command("cancel")
    .description("cancel an open job, also one that runs: it can begin and record nothing more")
    .addArgument(jobArgument())
    .addOption(tenantOption())
    .addOption(reasonOption("why, for the record"))
    .addOption(jsonOption())
    .action(async (id: string, { tenant, reason, json = false }: CancelGiven) => {
      const answer = await asTenant(tenant, (tx) => cancel(tx, tenant, id, reason ?? null));
      if (answer === "not_found") throw noSuchJob(id);
      if (answer === "final") {
        throw new DoorbellError("job_final", `job ${id} has settled already: there is nothing to cancel`);
      }
      if (json) printJson({ id, answer });
      else print(`cancelled: ${id}`);
    });
}
