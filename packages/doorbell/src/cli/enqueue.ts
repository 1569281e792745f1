// `doorbell enqueue`: a job from the command line. With an application at hand its schema and lane hold, as in code.
import { Command, Option } from "commander";
import type { App } from "../app.ts";
import { loadApp } from "../boot/load-app.ts";
import type { Client } from "../client/client.ts";
import type { EnqueueOptions } from "../client/request.ts";
import { type AnyJobDefinition, defineJob } from "../core/definition.ts";
import { DoorbellError } from "../core/errors.ts";
import { jsonOption, jsonValue, laneName, runAfter, tenantOption, wholeNumber } from "./arguments.ts";
import { withClient } from "./client.ts";
import { note, print, printJson } from "./output.ts";

interface Given {
  readonly tenant: string;
  readonly payload?: unknown;
  readonly objectKey?: string;
  readonly key?: string;
  readonly runAfter?: Date | string;
  readonly priority?: number;
  readonly lane?: string;
  readonly app?: string;
  readonly json?: boolean;
}

export function enqueueCommand(): Command {
  return new Command("enqueue")
    .description("enqueue a job; prints its id")
    .argument("<kind>", "the kind of job")
    .addOption(tenantOption())
    .addOption(new Option("--payload <json>", "its payload").argParser(jsonValue))
    .option("--object-key <key>", "its input in the object store")
    .option("--key <text>", "idempotency key: the same key of the same kind again is the same job")
    .addOption(new Option("--run-after <time>", 'not before: "10m", or "2026-01-31T12:00:00Z"').argParser(runAfter))
    .addOption(new Option("--priority <number>", "-8 to 8; 0 is normal").argParser(wholeNumber(-8, 8)))
    .addOption(new Option("--lane <name>", "its lane; default: that of its kind").argParser(laneName))
    .option("--app <file>", "the application, whose schema and lane of the kind hold (DOORBELL_APP)")
    .addOption(jsonOption())
    .action(async (kind: string, given: Given) => {
      const receipt = await withClient({ objects: given.objectKey !== undefined }, async (client, settings) => {
        const definition = await definitionOf(kind, given.lane, await loadApp(given.app ?? settings.app));
        return await client.enqueue(definition, given.payload, await enqueueOptions(client, given));
      });
      const { id, created } = receipt;
      if (given.json) return printJson({ id, created });
      print(id);
      if (!created) note("this key was there before: that is the job which has it");
    });
}

/** A kind that the application does not have is a slip, unless the lane of another application's workers is named. */
function definitionOf(kind: string, lane: string | undefined, app: App | null): AnyJobDefinition {
  const known = app?.jobs.find((job) => job.kind === kind);
  if (known !== undefined) return lane === undefined ? known : { ...known, lane };
  if (app !== null && lane === undefined) {
    const kinds = app.jobs.map((job) => job.kind).join(", ");
    throw new DoorbellError(
      "option_invalid",
      `the application has no kind ${kind}; it has ${kinds} (for another application's workers name their --lane)`,
    );
  }
  return defineJob({ kind, ...(lane !== undefined && { lane }) });
}

async function enqueueOptions(client: Client, given: Given): Promise<EnqueueOptions> {
  const { tenant, objectKey, key, priority } = given;
  const object = objectKey === undefined ? null : await client.objects.stat(tenant, objectKey);
  if (objectKey !== undefined && object === null) {
    note(`object ${objectKey} is not in the object store of these settings: its size and hash are not known`);
  }
  return {
    tenant,
    ...(object !== null ? { object } : objectKey !== undefined && { objectKey }),
    ...(key !== undefined && { idempotencyKey: key }),
    ...(given.runAfter !== undefined && { runAfter: given.runAfter }),
    ...(priority !== undefined && { priority }),
  };
}
