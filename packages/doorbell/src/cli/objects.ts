// `doorbell objects`: puts bytes into the object store, gets them out, and tells which there are.
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { Command, Option } from "commander";
import { DoorbellError } from "../core/errors.ts";
import { type Bucket, contentKey, objectMaxBytes, type StoredObject } from "../objects/bucket.ts";
import { jsonOption, tenantOption, wholeNumber } from "./arguments.ts";
import { withClient } from "./client.ts";
import { note, print, printJson, printList } from "./output.ts";
import type { Column } from "./table.ts";

const columns: readonly Column<StoredObject>[] = [
  { title: "object", value: (object) => object.key, whole: true },
  { title: "bytes", value: (object) => object.size },
  { title: "sha256", value: (object) => object.sha256 },
];

export function objectsCommand(): Command {
  return new Command("objects")
    .description("the inputs of jobs")
    .addCommand(putCommand())
    .addCommand(getCommand())
    .addCommand(listCommand());
}

/** One in memory would be another than everybody else's, and end with this command. */
function withBucket<T>(use: (bucket: Bucket) => Promise<T>): Promise<T> {
  return withClient({ objects: true }, ({ objects }) => {
    if (objects.capabilities.durable) return use(objects);
    throw new DoorbellError("option_invalid", "the object store of these settings is in memory: set DOORBELL_OBJECTS");
  });
}

interface PutGiven {
  readonly tenant: string;
  readonly key?: string;
  readonly json?: boolean;
}

function putCommand(): Command {
  return new Command("put")
    .description("store a file; prints its key")
    .argument("<file>", "its path")
    .addOption(tenantOption())
    .option("--key <key>", "default: made of its content, so that the same bytes are stored once")
    .addOption(jsonOption())
    .action(async (file: string, given: PutGiven) => {
      const bytes = readObject(file);
      const { tenant, key = contentKey(bytes), json = false } = given;
      const stored = await withBucket((bucket) => bucket.put(tenant, key, bytes));
      if (json) printJson(stored);
      else print(stored.key);
    });
}

function readObject(file: string): Uint8Array {
  if (statSync(file).size > objectMaxBytes) {
    throw new DoorbellError("object_too_large", `file ${file} is larger than ${objectMaxBytes} bytes`);
  }
  return readFileSync(file);
}

function getCommand(): Command {
  return new Command("get")
    .description("write an object's bytes, proven to be those that were stored")
    .argument("<key>", "as put has printed it")
    .addOption(tenantOption())
    .option("--output <file>", "default: standard output")
    .action(async (key: string, { tenant, output }: { readonly tenant: string; readonly output?: string }) => {
      const bytes = await withBucket((bucket) => bucket.get(tenant, key));
      if (output === undefined) process.stdout.write(bytes);
      else writeFileSync(output, bytes);
    });
}

interface ListGiven {
  readonly tenant: string;
  readonly after?: string;
  readonly limit: number;
  readonly json?: boolean;
}

function listCommand(): Command {
  return new Command("list")
    .description("in an order that does not change")
    .addOption(tenantOption())
    .option("--after <key>", "the page after this object: the last of the page before")
    .addOption(
      new Option("--limit <number>", "objects on a page, at most 1000").argParser(wholeNumber(1, 1_000)).default(100),
    )
    .addOption(jsonOption())
    .action(async ({ tenant, json = false, ...page }: ListGiven) => {
      const { objects, damaged } = await withBucket((bucket) => bucket.list(tenant, page));
      printList(objects, columns, { json, empty: "no objects" });
      if (damaged > 0) note(`${damaged} records of objects are damaged: their objects are not listed`);
      const last = objects.at(-1);
      if (!json && objects.length === page.limit && last !== undefined) note(`there may be more: --after ${last.key}`);
    });
}
