import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { UsageError } from "./demo-error.ts";
import { readManifest } from "./manifest.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "demo-manifest-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function complaint(): Promise<string> {
  const error = await readManifest(folder).catch((thrown: unknown) => thrown);
  if (!(error instanceof UsageError)) throw new Error("it was content");
  return error.message;
}

test("gives the files in the order of the manifest, and the right answers", async () => {
  const entries = ["b.xml", "a.pdf"].map((file) => ({ file, kind: "xml-ubl", expected: { number: "1" } }));
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(entries));
  for (const { file } of entries) writeFileSync(join(folder, file), file);
  const { files, entries: read } = await readManifest(folder);
  expect(files.map(({ name, bytes }) => [name, Buffer.from(bytes).toString()])).toEqual([
    ["b.xml", "b.xml"],
    ["a.pdf", "a.pdf"],
  ]);
  expect(read).toEqual(entries);
});

test("says so when there is no such folder", async () => {
  rmSync(folder, { recursive: true });
  expect(await complaint()).toBe(`--documents: there is no folder ${folder}`);
});

test("says so when the folder has no manifest", async () => {
  expect(await complaint()).toContain(`${folder} has no manifest.json`);
});

test.each([
  ["is not JSON", "{", "is not JSON"],
  ["is no list", '{"a": 1}', "is not a list"],
  ["has an entry without its answers", '[{"file": "a", "kind": "eml"}]', "is not a list"],
  ["is empty", "[]", "names no documents"],
  ["names what is not there", '[{"file": "gone.pdf", "kind": "eml", "expected": {}}]', "names gone.pdf"],
])("says so when the manifest %s", async (_, text, said) => {
  writeFileSync(join(folder, "manifest.json"), text);
  expect(await complaint()).toContain(said);
});
