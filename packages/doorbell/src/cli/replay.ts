// `doorbell replay`: runs settled jobs again.
import { Command, Option } from "commander";
import { DoorbellError } from "../core/errors.ts";
import type { JobState } from "../store/jobs.ts";
import { jobsArgument, jsonOption, kindOption, sinceOption, tenantOption } from "./arguments.ts";
import { replaySelected } from "./replay-jobs.ts";

interface Given {
  readonly tenant: string;
  readonly objectKey?: string;
  readonly kind?: string;
  readonly state?: JobState;
  readonly since?: Date;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

const settledStates: readonly JobState[] = ["failed", "done", "cancelled", "discarded"];

export function replayCommand(): Command {
  return new Command("replay")
    .description("run settled jobs again: the same job, its next attempt, no completed effect a second time")
    .addArgument(jobsArgument("these jobs"))
    .addOption(tenantOption())
    .addOption(
      new Option("--object-key <key>", "the newest job of each kind with this object").conflicts(["state", "since"]),
    )
    .addOption(kindOption("all of this kind; with --object-key: of no other kind"))
    .addOption(new Option("--state <state>", "all in this state (default: failed)").choices(settledStates))
    .addOption(sinceOption("all created since"))
    .option("--dry-run", "only tell which")
    .addOption(jsonOption())
    .action(async (ids: readonly string[] = [], given: Given) => {
      const { tenant, dryRun = false, json = false, ...filter } = given;
      const narrowed = filter.objectKey ?? filter.kind ?? filter.state ?? filter.since;
      if (ids.length === 0 && narrowed === undefined) {
        throw new DoorbellError(
          "option_invalid",
          "which jobs? name them, or give --object-key, --kind, --state or --since",
        );
      }
      if (ids.length > 0 && narrowed !== undefined) {
        throw new DoorbellError("option_invalid", "name jobs, or select them with options; not both");
      }
      await replaySelected({ tenant, selection: { ids, ...filter }, dryRun, json });
    });
}
