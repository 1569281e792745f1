import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openBucket } from "./open.ts";

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "doorbell-open-"));
});

afterAll(async () => {
  await rm(directory, { recursive: true });
});

test("a directory is opened relative, absolute and as a URL, and is one bucket", async () => {
  const path = join(directory, "with space");
  const bytes = new Uint8Array([1]);
  await (await openBucket(`file:${path}`)).put("acme", "k", bytes);
  for (const url of [`file:${relative(process.cwd(), path)}`, pathToFileURL(path).href]) {
    expect(await (await openBucket(url)).get("acme", "k"), url).toEqual(bytes);
  }
});

test("each memory bucket is a new one", async () => {
  await (await openBucket("memory:")).put("acme", "k", new Uint8Array([1]));
  expect(await (await openBucket("memory:")).stat("acme", "k")).toBeNull();
});

test.each(["gs://key:hunter2@bucket", "objects", "", "file:", "file://host/share", "memory"])(
  "%j is refused, with the choices or a way out, and without its secrets",
  async (url) => {
    const error = await openBucket(url).catch((reason: unknown) => reason as Error);
    expect(error).toMatchObject({ code: "option_invalid", message: expect.stringMatching(/file:/) });
    expect((error as Error).message).not.toContain("hunter2");
  },
);

test("credentials in an s3: URL are refused, and not told", async () => {
  const error = await openBucket("s3://key:hunter2@bucket").catch((reason: unknown) => reason as Error);
  expect(error).toMatchObject({ code: "option_invalid", message: expect.stringContaining("AWS_ACCESS_KEY_ID") });
  expect((error as Error).message).not.toContain("hunter2");
});

test("a directory that cannot be made is said when it is opened", async () => {
  const file = join(directory, "a-file");
  await writeFile(file, "");
  await expect(openBucket(`file:${file}/objects`)).rejects.toMatchObject({ code: "objects_unavailable" });
});
