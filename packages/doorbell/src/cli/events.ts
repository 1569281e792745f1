// `doorbell events emit`: tells jobs that wait for it that something has happened.
import { Command, Option } from "commander";
import { jsonOption, jsonValue, tenantOption } from "./arguments.ts";
import { withClient } from "./client.ts";
import { print, printJson } from "./output.ts";

interface Given {
  readonly tenant: string;
  readonly payload?: unknown;
  readonly json?: boolean;
}

export function eventsCommand(): Command {
  return new Command("events").description("events that jobs wait for").addCommand(emitCommand());
}

function emitCommand(): Command {
  return new Command("emit")
    .description("tell that something has happened; prints how many jobs were waiting for it")
    .argument("<event>", "the name of the event, as in job.waitFor")
    .addOption(tenantOption())
    .addOption(new Option("--payload <json>", "what the jobs are given").argParser(jsonValue))
    .addOption(jsonOption())
    .action(async (event: string, { tenant, payload, json }: Given) => {
      const woken = await withClient({}, (client) => client.emit(tenant, event, payload));
      if (json) return printJson({ event, woken });
      print(woken === 1 ? "1 job was waiting for it" : `${woken} jobs were waiting for it`);
    });
}
