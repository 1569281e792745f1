// `doorbell logs`: the story of one job, all attempts in order: what became of it, what its handlers said, its effects.
import { Command } from "commander";
import { type StoryLine, story } from "../store/jobs.ts";
import { jobArgument, jsonOption, tenantOption } from "./arguments.ts";
import { asTenant, noSuchJob } from "./client.ts";
import { firstLine, print, printJson } from "./output.ts";
import { printable } from "./table.ts";

export function logsCommand(): Command {
  return new Command("logs")
    .description("the story of one job, all its attempts in order")
    .addArgument(jobArgument())
    .addOption(tenantOption())
    .addOption(jsonOption())
    .action(async (id: string, { tenant, json = false }: { readonly tenant: string; readonly json?: boolean }) => {
      const lines = await asTenant(tenant, (tx) => story(tx, tenant, id));
      if (lines.length === 0) throw noSuchJob(id);
      if (json) printJson(lines);
      else for (const line of lines) print(lineOf(line));
    });
}

function lineOf({ at, attempt, level, stage, message, fields }: StoryLine): string {
  const facts = Object.entries(fields ?? {}).map(([name, value]) => `${name}=${textOf(value)}`);
  const said = [...(stage === null ? [] : [`[${stage}]`]), message, ...facts].join(" ");
  return `${at.toISOString()} #${attempt} ${level.padEnd(5)} ${printable(said)}`;
}

/** A stack would fill the screen; --json has all of it. */
function textOf(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value);
  const first = firstLine(value);
  const shown = first === value ? value : `${first} …`;
  return /[\s="]/.test(shown) ? JSON.stringify(shown) : shown;
}
