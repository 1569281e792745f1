import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Peak } from "../../test/peak.ts";
import { sha256Hex } from "../core/hash.ts";
import { bucketCases } from "../testing/bucket-suite.ts";
import { Bucket } from "./bucket.ts";
import { contentOf } from "./content.ts";
import { openFilesystemDriver } from "./filesystem.ts";

let outside: string;
let root: string;
let bucket: Bucket;

beforeAll(async () => {
  outside = await mkdtemp(join(tmpdir(), "doorbell-objects-"));
  root = join(outside, "made", "on", "opening");
  bucket = new Bucket(await openFilesystemDriver(root));
});

afterAll(async () => {
  await rm(outside, { recursive: true });
});

for (const { title, run } of bucketCases) test(title, () => run(bucket));

const hello = new TextEncoder().encode("hello");

test("a second bucket on the same directory sees what the first has stored", async () => {
  await bucket.put("acme", "shared", hello);
  const second = new Bucket(await openFilesystemDriver(root));
  expect(await second.get("acme", "shared")).toEqual(hello);
  await expect(second.put("acme", "shared", new Uint8Array(1))).rejects.toMatchObject({ code: "object_conflict" });
});

test("nothing is ever written outside the root, and no temporary file stays", async () => {
  await bucket.put("../../acme", "../../../escape", hello);
  const everything = await filesBelow(outside);
  expect(everything.length).toBeGreaterThan(0);
  for (const file of everything) {
    const path = relative(root, file);
    expect(path).toMatch(/^[0-9a-f]{64}\/[0-9a-f]{2}\/[0-9a-f]{64}(?:\.[0-9a-f]{64})?$/);
  }
});

test("bytes that were changed on the disk are a mismatch, whatever was changed", async () => {
  const stored = await bucket.put("acme", "changed", hello);
  const file = fileOf("acme", "changed", stored.sha256);
  for (const changed of ["hellO", "hell", "hello!", "", "x".repeat(1_000_000)]) {
    await rm(file);
    await writeFile(file, changed);
    await expect(bucket.get("acme", "changed")).rejects.toMatchObject({ code: "object_mismatch" });
  }
});

test("a reader of bytes that were changed is never given the last of them", async () => {
  const bytes = new Uint8Array(1_000_000);
  const stored = await bucket.put("acme", "large", bytes);
  const file = fileOf("acme", "large", stored.sha256);
  await rm(file);
  await writeFile(file, bytes.fill(1, 0, 1));
  let seen = 0;
  const reading = async () => {
    for await (const piece of bucket.read("acme", "large")) seen += piece.length;
  };
  await expect(reading()).rejects.toMatchObject({ code: "object_mismatch" });
  expect(seen).toBeGreaterThan(0);
  expect(seen).toBeLessThan(stored.size);
});

test("memory does not grow with an object that comes and goes in pieces", async () => {
  const peak = new Peak();
  async function* source(): AsyncGenerator<Uint8Array> {
    for (let index = 0; index < 64; index += 1) {
      if (index % 8 === 0) peak.look();
      yield new Uint8Array(1_024 * 1_024).fill(index);
    }
  }
  await bucket.put("acme", "64 MB", source());
  let pieces = 0;
  for await (const _ of bucket.read("acme", "64 MB")) {
    if (pieces % 32 === 0) peak.look();
    pieces += 1;
  }
  expect(peak.bytes()).toBeLessThan(24 * 1_024 * 1_024);
});

test("bytes that were lost are missing, and come back with the same upload", async () => {
  const stored = await bucket.put("acme", "lost", hello);
  await rm(fileOf("acme", "lost", stored.sha256));
  await expect(bucket.get("acme", "lost")).rejects.toMatchObject({ code: "object_missing" });
  await bucket.put("acme", "lost", hello);
  expect(await bucket.get("acme", "lost")).toEqual(hello);
});

test("a record that is damaged, or was copied to another key, is a mismatch", async () => {
  await bucket.put("acme", "original", hello);
  await bucket.put("acme", "damaged", hello);
  const original = await readFile(fileOf("acme", "original"));
  for (const content of [original, "", "{", "null", "7"]) {
    await rm(fileOf("acme", "damaged"));
    await writeFile(fileOf("acme", "damaged"), content);
    await expect(bucket.get("acme", "damaged")).rejects.toMatchObject({ code: "object_mismatch" });
  }
});

test("a damaged record is counted in a list, and hides nothing", async () => {
  for (const key of ["one", "two", "three"]) await bucket.put("listing", key, hello);
  await rm(fileOf("listing", "two"));
  await writeFile(fileOf("listing", "two"), "{");
  const { objects, damaged } = await bucket.list("listing", { limit: 10 });
  expect(objects.map((object) => object.key).sort()).toEqual(["one", "three"]);
  expect(damaged).toBe(1);
});

test("bytes without a record, as a crash between the two leaves them, are no object and stand in nobody's way", async () => {
  const stored = await bucket.put("acme", "crashed", hello);
  await rm(fileOf("acme", "crashed"));
  expect(await bucket.stat("acme", "crashed")).toBeNull();
  const other = new TextEncoder().encode("other");
  await bucket.put("acme", "crashed", other);
  expect(await bucket.get("acme", "crashed")).toEqual(other);
  await expect(stat(fileOf("acme", "crashed", stored.sha256))).resolves.toBeDefined();
});

test("temporary files of a process that died are removed when they are old, and only then", async () => {
  const [old, young] = [join(root, "tmp", "old"), join(root, "tmp", "young")];
  await writeFile(old, "x");
  await writeFile(young, "x");
  await utimes(old, new Date(0), new Date(0));
  await openFilesystemDriver(root);
  expect(await readdir(join(root, "tmp"))).toEqual(["young"]);
  await rm(young);
});

test("a path that no bucket makes does not reach the file system", async () => {
  const driver = await openFilesystemDriver(root);
  for (const path of ["../x", "a/../b", "/a", "a//b", "", "ab/XY", "a.b.c"]) {
    await expect(driver.put(path, contentOf(hello)), path).rejects.toThrow("not a path of a bucket");
    await expect(driver.get(path, null), path).rejects.toThrow("not a path of a bucket");
  }
});

test("what the file system refuses is an object store that is unavailable, with the cause", async () => {
  const driver = await openFilesystemDriver(join(outside, "vanishing"));
  await rm(join(outside, "vanishing"), { recursive: true });
  await expect(new Bucket(driver).put("acme", "k", hello)).rejects.toMatchObject({
    code: "objects_unavailable",
    cause: expect.objectContaining({ code: "ENOENT" }),
  });
});

function fileOf(tenant: string, key: string, sha256?: string): string {
  const keyHash = sha256Hex(key);
  const record = join(root, sha256Hex(tenant), keyHash.slice(0, 2), keyHash);
  return sha256 === undefined ? record : `${record}.${sha256}`;
}

async function filesBelow(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
