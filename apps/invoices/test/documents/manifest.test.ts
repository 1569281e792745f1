// Reads a folder of real documents with known answers, and of hostile files, through the real child processes. The
// folder is not part of the repository: `DOORBELL_DOCUMENTS` names it, else it is looked for beside the repository.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { closeParserChildren, extractDocument } from "../../src/documents/extract-document.ts";
import { type DocumentResult, type ManifestEntry, type Score, scoreDocuments } from "./score.ts";

const repository = fileURLToPath(new URL("../../../..", import.meta.url));
const folder = process.env["DOORBELL_DOCUMENTS"] ?? path.resolve(repository, "../shared/documents");
const isThere = existsSync(path.join(folder, "manifest.json"));
if (!isThere) {
  console.warn(`SKIPPED: no documents to read, because ${folder} has no manifest.json (set DOORBELL_DOCUMENTS)`);
}

afterAll(closeParserChildren);

describe.skipIf(!isThere)("the documents of the manifest", () => {
  let score: Score;

  test("all end within a minute each", async () => {
    const manifest = JSON.parse(await readFile(path.join(folder, "manifest.json"), "utf8")) as readonly ManifestEntry[];
    const results = await Promise.all(manifest.map(({ file }) => resultOf(file)));
    score = scoreDocuments(manifest, results);
    expect(Math.max(...results.map((result) => result.elapsedMs ?? 0))).toBeLessThan(60_000);
  }, 120_000);

  test("are all read right where they carry XML", () => {
    expect(problemsIn(score, "xml")).toEqual([]);
    expect(score).toMatchObject({ xmlRight: 20, xmlTotal: 20 });
  });

  test("are read right by their text in at least five of seven cases", () => {
    expect(score.textTotal).toBe(7);
    expect(score.textRight, problemsIn(score, "text").join("\n")).toBeGreaterThanOrEqual(5);
  });

  test("are read right in e-mails", () => {
    expect(problemsIn(score, "email")).toEqual([]);
  });

  test("are never accepted wrongly", () => {
    expect(score.details.filter((detail) => detail.wronglyAccepted)).toEqual([]);
  });

  test("are held where they are hostile, each as its manifest allows", () => {
    expect(problemsIn(score, "hostile")).toEqual([]);
    expect(score.hostileHeld).toBe(score.hostileTotal);
    expect(score.hostileTotal).toBeGreaterThan(0);
  });

  test("are passed on to a person where the format is foreign", () => {
    expect(problemsIn(score, "other")).toEqual([]);
  });
});

async function resultOf(file: string): Promise<DocumentResult> {
  const bytes = await readFile(path.join(folder, file));
  const startedAt = performance.now();
  const extraction = await extractDocument(bytes);
  return { ...extraction, file, elapsedMs: performance.now() - startedAt };
}

function problemsIn(score: Score, group: string): readonly string[] {
  return score.details
    .filter((detail) => detail.group === group)
    .flatMap(({ file, problems }) => problems.map((problem) => `${file}: ${problem}`));
}
