// The command line as a whole: which commands there are.
import { Command } from "commander";
import { version } from "../version.ts";
import { deadLettersCommand } from "./dead-letters.ts";
import { doctorCommand } from "./doctor.ts";
import { effectsCommand } from "./effects.ts";
import { enqueueCommand } from "./enqueue.ts";
import { jobsCommand } from "./jobs.ts";
import { logsCommand } from "./logs.ts";
import { migrateCommand } from "./migrate.ts";
import { objectsCommand } from "./objects.ts";
import { replayCommand } from "./replay.ts";
import { startCommand } from "./start.ts";
import { statsCommand } from "./stats.ts";
import { sweepCommand } from "./sweep.ts";

const commands: readonly (() => Command)[] = [
  startCommand,
  migrateCommand,
  doctorCommand,
  sweepCommand,
  statsCommand,
  enqueueCommand,
  jobsCommand,
  logsCommand,
  replayCommand,
  deadLettersCommand,
  effectsCommand,
  objectsCommand,
];

export function createProgram(): Command {
  const program = new Command("doorbell")
    .description("background jobs: Postgres holds the state, the queue holds the delivery")
    .version(version)
    .addHelpText("after", "\nExit codes: 0 done, 1 failed, 2 usage, 78 refused to start. Settings: docs/settings.md");
  for (const make of commands) program.addCommand(make());
  return program;
}

/** For this command and all below: errors are thrown, and nothing is written about them here. */
export function throwErrors(command: Command): Command {
  command.exitOverride().configureOutput({ outputError: () => {} });
  for (const child of command.commands) throwErrors(child);
  return command;
}
