// The command line as a whole: which commands there are. A command is loaded when it is asked for: what serves HTTP and
// runs handlers is nothing to one that reads a list.
import { Command } from "commander";
import { version } from "../version.ts";
import { UsageError } from "./errors.ts";

const commands: Readonly<Record<string, () => Promise<Command>>> = {
  start: async () => (await import("./start.ts")).startCommand(),
  migrate: async () => (await import("./migrate.ts")).migrateCommand(),
  doctor: async () => (await import("./doctor.ts")).doctorCommand(),
  sweep: async () => (await import("./sweep.ts")).sweepCommand(),
  stats: async () => (await import("./stats.ts")).statsCommand(),
  check: async () => (await import("./check.ts")).checkCommand(),
  enqueue: async () => (await import("./enqueue.ts")).enqueueCommand(),
  jobs: async () => (await import("./jobs.ts")).jobsCommand(),
  logs: async () => (await import("./logs.ts")).logsCommand(),
  replay: async () => (await import("./replay.ts")).replayCommand(),
  "dead-letters": async () => (await import("./dead-letters.ts")).deadLettersCommand(),
  events: async () => (await import("./events.ts")).eventsCommand(),
  breakers: async () => (await import("./breakers.ts")).breakersCommand(),
  effects: async () => (await import("./effects.ts")).effectsCommand(),
  objects: async () => (await import("./objects.ts")).objectsCommand(),
  webhooks: async () => (await import("./webhooks.ts")).webhooksCommand(),
};

/** The program with the command that the arguments begin with; with all of them where that is none: for help and hints. */
export async function createProgram(args: readonly string[]): Promise<Command> {
  const program = new Command("doorbell")
    .description("background jobs: Postgres holds the state, the queue holds the delivery")
    .version(version)
    .addHelpText("after", "\nExit codes: 0 done, 1 failed, 2 usage, 78 refused to start. Settings: docs/settings.md");
  const named = Object.hasOwn(commands, args[0] ?? "") ? commands[args[0] ?? ""] : undefined;
  for (const load of named === undefined ? Object.values(commands) : [named]) program.addCommand(await load());
  return throwErrors(program, program.name());
}

/** For this command and all below: errors are thrown, and nothing is written about them here. */
function throwErrors(command: Command, path: string): Command {
  command.configureOutput({ outputError: () => {} }).exitOverride((error) => {
    throw UsageError.isShown(error) ? error : new UsageError(error, path);
  });
  for (const child of command.commands) throwErrors(child, `${path} ${child.name()}`);
  return command;
}
