// `doorbell replay`: runs settled jobs again; or, with an application at hand, tells what that would come to.
import { Command, Option } from "commander";
import { toMs } from "../core/duration.ts";
import { DoorbellError } from "../core/errors.ts";
import type { JobState } from "../store/jobs.ts";
import {
  actorOption,
  duration,
  jobsArgument,
  jsonOption,
  kindOption,
  reasonOption,
  sinceOption,
  tenantOption,
  untilOption,
  wholeNumber,
} from "./arguments.ts";
import { dryRunSelected } from "./dry-run.ts";
import { replaySelected } from "./replay-jobs.ts";

interface Given {
  readonly tenant: string;
  readonly objectKey?: string;
  readonly kind?: string;
  readonly state?: JobState;
  readonly since?: Date;
  readonly until?: Date;
  readonly canary?: boolean;
  readonly canaryWithin: string;
  readonly refire?: string;
  readonly reason?: string;
  readonly actor: string;
  readonly dryRun?: boolean;
  readonly app?: string;
  readonly concurrency: number;
  readonly json?: boolean;
}

const settledStates: readonly JobState[] = ["failed", "done", "cancelled", "discarded"];

export function replayCommand(): Command {
  return new Command("replay")
    .description("run settled jobs again: the same job, its next attempt, no completed effect a second time")
    .addArgument(jobsArgument("these jobs"))
    .addOption(tenantOption())
    .addOption(
      new Option("--object-key <key>", "the newest job of each kind with this object").conflicts([
        "state",
        "since",
        "until",
      ]),
    )
    .addOption(kindOption("all of this kind; with --object-key: of no other kind"))
    .addOption(new Option("--state <state>", "all in this state (default: failed)").choices(settledStates))
    .addOption(sinceOption("all created since"))
    .addOption(untilOption("all created before"))
    .addOption(new Option("--canary", "one first, and the others only when it is done").conflicts("dryRun"))
    .addOption(new Option("--canary-within <duration>", "it is waited for so long").argParser(duration).default("10m"))
    .addOption(new Option("--refire <key>", "this completed effect is done again, and no other").conflicts("dryRun"))
    .addOption(reasonOption("with --refire: why, for the record"))
    .addOption(actorOption())
    .option("--dry-run", "only tell which; with --app: run their handlers here, writing and calling nothing")
    .option("--app <file>", "with --dry-run: the application's module")
    .addOption(
      new Option("--concurrency <number>", "with --app: handlers at once").argParser(wholeNumber(1, 50)).default(4),
    )
    .addOption(jsonOption())
    .action(async (ids: readonly string[] = [], given: Given) => {
      const { tenant, dryRun = false, json = false, app, canary = false, concurrency } = given;
      const { objectKey, kind, state, since, until } = given;
      const filter = {
        ...(objectKey !== undefined && { objectKey }),
        ...(kind !== undefined && { kind }),
        ...(state !== undefined && { state }),
        ...(since !== undefined && { since }),
        ...(until !== undefined && { until }),
      };
      const isNarrowed = Object.keys(filter).length > 0;
      if (ids.length === 0 && !isNarrowed) {
        throw new DoorbellError(
          "option_invalid",
          "which jobs? name them, or give --object-key, --kind, --state, --since or --until",
        );
      }
      if (ids.length > 0 && isNarrowed) {
        throw new DoorbellError("option_invalid", "name jobs, or select them with options; not both");
      }
      if (app !== undefined && !dryRun) throw new DoorbellError("option_invalid", "--app is for --dry-run");
      const selection = { ids, ...filter };
      if (app !== undefined) return await dryRunSelected({ tenant, selection, app, concurrency, json });
      await replaySelected({
        tenant,
        selection,
        dryRun,
        json,
        ...refireOf(given),
        ...(canary && { canaryMs: toMs(given.canaryWithin, "--canary-within") }),
      });
    });
}

function refireOf({ refire: key, reason, actor }: Given) {
  if (key === undefined) return {};
  if (reason === undefined) throw new DoorbellError("option_invalid", "--refire wants --reason: why it is done again");
  return { refire: { key, reason, actor } };
}
