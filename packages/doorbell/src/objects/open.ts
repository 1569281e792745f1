// From a URL in the configuration to a bucket. The only place that knows which drivers there are. The file of s3: is loaded
// when its URL is used, and the library it needs with it.
import { fileURLToPath } from "node:url";
import { DoorbellError } from "../core/errors.ts";
import { Bucket } from "./bucket.ts";
import { openFilesystemDriver } from "./filesystem.ts";
import { memoryDriver } from "./memory.ts";

export const objectSchemes: readonly string[] = ["file", "s3", "memory"];
const choices = "file:DIR, s3://BUCKET/PREFIX, memory:";

/**
 * Opens `file:DIR` (relative to the working directory, or absolute, or file:///…), `s3://BUCKET/PREFIX` or `memory:`. Throws
 * option_invalid for another scheme, objects_unavailable for a directory that cannot be used, peer_missing where the
 * library of s3: is not installed. Does not connect. A `memory:` bucket is a new one each time.
 */
export async function openBucket(url: string): Promise<Bucket> {
  if (url === "memory:") return new Bucket(memoryDriver());
  if (url.startsWith("s3:")) return new Bucket(await (await import("./s3.ts")).s3Driver({ url }));
  if (url.startsWith("file:")) {
    const directory = directoryOf(url);
    try {
      return new Bucket(await openFilesystemDriver(directory));
    } catch (cause) {
      throw new DoorbellError("objects_unavailable", `the object directory ${directory} cannot be used`, { cause });
    }
  }
  // The scheme alone: the rest of a URL may hold credentials.
  const scheme = /^[a-z][a-z0-9+.-]{0,30}:/i.exec(url)?.[0] ?? "no scheme";
  throw new DoorbellError("option_invalid", `objects: unknown object store (${scheme}); choices: ${choices}`);
}

function directoryOf(url: string): string {
  const directory = url.startsWith("file://") ? pathOfFileUrl(url) : url.slice("file:".length);
  if (directory === "")
    throw new DoorbellError("option_invalid", "objects: file: needs a directory, as in file:./objects");
  return directory;
}

function pathOfFileUrl(url: string): string {
  try {
    return fileURLToPath(url);
  } catch (cause) {
    throw new DoorbellError("option_invalid", "objects: not a file URL; write file:./objects or file:///srv/objects", {
      cause,
    });
  }
}
