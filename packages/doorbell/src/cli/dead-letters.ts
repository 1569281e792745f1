// `doorbell dead-letters`: failed jobs, where people look: list them, run them again, or put them aside with a reason.
import { Command, Option } from "commander";
import { DoorbellError } from "../core/errors.ts";
import { type DeadLetterGroup, listDeadLetterGroups } from "../store/dead-letters.ts";
import { discard, type JobRow, listJobs } from "../store/jobs.ts";
import {
  actorOption,
  jobsArgument,
  jsonOption,
  kindOption,
  pageOptions,
  reasonOption,
  sinceOption,
  tenantOption,
} from "./arguments.ts";
import { asTenant } from "./client.ts";
import { firstLine, instant, noteMore, print, printJson, printList } from "./output.ts";
import { replaySelected } from "./replay-jobs.ts";
import { type Selection, selectJobs } from "./select-jobs.ts";
import { withoutPayload } from "./shown-job.ts";
import type { Column } from "./table.ts";

const columns: readonly Column<Omit<JobRow, "payload">>[] = [
  { title: "job", value: (job) => job.id, whole: true },
  { title: "kind", value: (job) => job.kind },
  { title: "attempts", value: (job) => job.attempts },
  { title: "failed", value: (job) => instant(job.finished_at) },
  { title: "code", value: (job) => job.error_code },
  { title: "version", value: (job) => job.app_version },
  { title: "object", value: (job) => job.object_key },
  { title: "error", value: (job) => firstLine(job.last_error) },
];

const groupColumns: readonly Column<DeadLetterGroup>[] = [
  { title: "fingerprint", value: (group) => group.fingerprint, whole: true },
  { title: "kind", value: (group) => group.kind },
  { title: "jobs", value: (group) => group.jobs },
  { title: "first", value: (group) => instant(group.first_failed_at) },
  { title: "last", value: (group) => instant(group.last_failed_at) },
  { title: "code", value: (group) => group.error_code },
  { title: "error", value: (group) => firstLine(group.error) },
];

interface Selected {
  readonly tenant: string;
  readonly kind?: string;
  readonly fingerprint?: string;
  readonly since?: Date;
  readonly all?: boolean;
  readonly json?: boolean;
}

export function deadLettersCommand(): Command {
  return new Command("dead-letters")
    .description("jobs that have failed for good")
    .addCommand(listCommand())
    .addCommand(replayCommand())
    .addCommand(discardCommand());
}

interface ListGiven extends Selected {
  readonly before?: string;
  readonly limit: number;
  readonly group?: boolean;
}

function listCommand(): Command {
  const command = new Command("list")
    .description("newest first; with --group: by what went wrong, the largest group first")
    .addOption(tenantOption())
    .addOption(kindOption("of this kind"))
    .option("--fingerprint <fingerprint>", "of this group")
    .addOption(sinceOption("created since"))
    .addOption(new Option("--group", "by what went wrong").conflicts(["kind", "fingerprint", "since", "before"]));
  for (const option of pageOptions()) command.addOption(option);
  return command.addOption(jsonOption()).action(async (given: ListGiven) => {
    const { tenant, json = false, group = false, ...filter } = given;
    const empty = "no dead letters";
    if (group) {
      const groups = await asTenant(tenant, (tx) => listDeadLetterGroups(tx, tenant, filter.limit));
      return printList(groups, groupColumns, { json, empty });
    }
    const jobs = await asTenant(tenant, (tx) => listJobs(tx, tenant, { ...filter, state: "failed" }));
    printList(jobs.map(withoutPayload), columns, { json, empty });
    if (!json) noteMore(jobs, filter.limit);
  });
}

/** The options by which `replay` and `discard` select. */
function selecting(command: Command): Command {
  return command
    .addArgument(jobsArgument("these dead letters"))
    .addOption(tenantOption())
    .addOption(kindOption("all of this kind"))
    .option("--fingerprint <fingerprint>", "all of this group (see list --group)")
    .addOption(sinceOption("all created since"))
    .option("--all", "all of the tenant's");
}

function selectionOf(ids: readonly string[], { kind, fingerprint, since: from, all }: Selected): Selection {
  const narrowed = [kind, fingerprint, from, all].some((option) => option !== undefined);
  if (ids.length === 0 && !narrowed) {
    throw new DoorbellError(
      "option_invalid",
      "which dead letters? name them, or give --kind, --fingerprint, --since or --all",
    );
  }
  if (ids.length > 0 && narrowed) {
    throw new DoorbellError("option_invalid", "name dead letters, or select them with options; not both");
  }
  return {
    ids,
    state: "failed",
    ...(kind !== undefined && { kind }),
    ...(fingerprint !== undefined && { fingerprint }),
    ...(from !== undefined && { since: from }),
  };
}

function replayCommand(): Command {
  return selecting(new Command("replay").description("run them again; no completed effect a second time"))
    .option("--dry-run", "only tell which")
    .addOption(jsonOption())
    .action(async (ids: readonly string[] = [], given: Selected & { readonly dryRun?: boolean }) => {
      const { tenant, dryRun = false, json = false } = given;
      await replaySelected({ tenant, selection: selectionOf(ids, given), dryRun, json });
    });
}

interface DiscardGiven extends Selected {
  readonly reason: string;
  readonly actor: string;
}

function discardCommand(): Command {
  return selecting(new Command("discard").description("put them aside, with a reason on record"))
    .addOption(reasonOption("why, for the record").makeOptionMandatory())
    .addOption(actorOption())
    .addOption(jsonOption())
    .action(async (ids: readonly string[] = [], given: DiscardGiven) => {
      const { tenant, reason, actor, json = false } = given;
      const selection = selectionOf(ids, given);
      // One transaction: all that were selected, or none.
      const discarded = await asTenant(tenant, async (tx) => {
        const jobs = await selectJobs(tx, tenant, selection);
        const other = jobs.find((job) => job.state !== "failed");
        if (other !== undefined) {
          throw new DoorbellError("job_not_found", `no such dead letter: job ${other.id} is ${other.state}`);
        }
        const chosen = jobs.map((job) => job.id);
        return await discard(tx, tenant, chosen, reason, actor);
      });
      if (json) printJson(discarded);
      else print(`discarded: ${discarded.length}`);
    });
}
