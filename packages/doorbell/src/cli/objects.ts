// `doorbell objects`: puts bytes into the object store, and gets them out.
import { readFileSync, writeFileSync } from "node:fs";
import { Command } from "commander";
import { contentKey } from "../objects/bucket.ts";
import { jsonOption, tenantOption } from "./arguments.ts";
import { withClient } from "./client.ts";
import { print, printJson } from "./output.ts";

export function objectsCommand(): Command {
  return new Command("objects").description("the inputs of jobs").addCommand(putCommand()).addCommand(getCommand());
}

function putCommand(): Command {
  return new Command("put")
    .description("store a file; prints its key")
    .argument("<file>")
    .addOption(tenantOption())
    .option("--key <key>", "default: made of its content, so that the same bytes are stored once")
    .addOption(jsonOption())
    .action(
      async (file: string, given: { readonly tenant: string; readonly key?: string; readonly json?: boolean }) => {
        const bytes = readFileSync(file);
        const { tenant, key = contentKey(bytes), json = false } = given;
        const stored = await withClient({ objects: true }, (client) => client.objects.put(tenant, key, bytes));
        if (json) printJson(stored);
        else print(stored.key);
      },
    );
}

function getCommand(): Command {
  return new Command("get")
    .description("write an object's bytes, proven to be those that were stored")
    .argument("<key>")
    .addOption(tenantOption())
    .option("--output <file>", "default: standard output")
    .action(async (key: string, { tenant, output }: { readonly tenant: string; readonly output?: string }) => {
      const bytes = await withClient({ objects: true }, (client) => client.objects.get(tenant, key));
      if (output === undefined) process.stdout.write(bytes);
      else writeFileSync(output, bytes);
    });
}
