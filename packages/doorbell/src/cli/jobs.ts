// `doorbell jobs`: one tenant's jobs, open and settled.
import { Command, Option } from "commander";
import { DoorbellError } from "../core/errors.ts";
import { cancel, type JobRow, type JobState, listJobs } from "../store/jobs.ts";
import { jobId, jsonOption, since, tenantOption, wholeNumber } from "./arguments.ts";
import { asTenant, noSuchJob } from "./client.ts";
import { jobShowCommand } from "./job-show.ts";
import { firstLine, instant, print, printJson, printList } from "./output.ts";
import { shownState, withoutPayload } from "./shown-job.ts";
import type { Column } from "./table.ts";

const states: readonly JobState[] = ["queued", "claimed", "waiting", "done", "failed", "cancelled", "discarded"];

const columns: readonly Column<JobRow>[] = [
  { title: "job", value: (job) => job.id, whole: true },
  { title: "kind", value: (job) => job.kind },
  { title: "state", value: shownState },
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

interface ListGiven {
  readonly tenant: string;
  readonly state?: JobState;
  readonly kind?: string;
  readonly objectKey?: string;
  readonly since?: Date;
  readonly before?: string;
  readonly limit: number;
  readonly json?: boolean;
}

function listCommand(): Command {
  return new Command("list")
    .description("newest first")
    .addOption(tenantOption())
    .addOption(new Option("--state <state>").choices(states))
    .option("--kind <kind>")
    .option("--object-key <key>")
    .addOption(new Option("--since <time>", "created since, or so long ago").argParser(since))
    .addOption(new Option("--before <job>", "the page after this job").argParser(jobId))
    .addOption(new Option("--limit <number>").argParser(wholeNumber(1, 1_000)).default(100))
    .addOption(jsonOption())
    .action(async ({ tenant, json = false, ...filter }: ListGiven) => {
      const jobs = await asTenant(tenant, (tx) => listJobs(tx, tenant, filter));
      if (json) printJson(jobs.map(withoutPayload));
      else printList(jobs, columns, { json, empty: "no jobs" });
    });
}

function cancelCommand(): Command {
  return new Command("cancel")
    .description("cancel an open job, also one that runs: it can begin and record nothing more")
    .argument("<job>", "its id", jobId)
    .addOption(tenantOption())
    .option("--reason <text>", "why, for the record")
    .addOption(jsonOption())
    .action(
      async (id: string, given: { readonly tenant: string; readonly reason?: string; readonly json?: boolean }) => {
        const { tenant, reason = null, json = false } = given;
        const answer = await asTenant(tenant, (tx) => cancel(tx, tenant, id, reason));
        if (answer === "not_found") throw noSuchJob(id);
        if (answer === "final") {
          throw new DoorbellError("job_final", `job ${id} has settled already: there is nothing to cancel`);
        }
        if (json) printJson({ id, answer });
        else print(`cancelled: ${id}`);
      },
    );
}
