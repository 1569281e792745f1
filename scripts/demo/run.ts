// The run itself: uploads, a kill in the middle, waiting until every job has come to an end, and the counting.
import { setTimeout as delay } from "node:timers/promises";
import { scoreDocuments } from "../../apps/invoices/test/documents/score.ts";
import { type Upload, uploadFile } from "./client.ts";
import { countDoorbellsDropped, countEffects } from "./count.ts";
import { type DemoFile, type DemoFiles, giveTo, sampleProblems } from "./files.ts";
import { killAtWork } from "./killing.ts";
import { look } from "./look.ts";
import type { Narrator } from "./narrator.ts";
import { type DemoDocument, isDecided, isLost, type Outcome, type Refusal, resultsOf } from "./outcome.ts";
import type { Stand } from "./stand.ts";

const uploadsAtOnce = 3;
const lookEveryMs = 250;
/** A hostile document may take half a minute, twice if it was being read by the worker that was killed. */
const stuckAfterMs = 90_000;

/** Resolves when every job has come to an end, or none does any more. Throws when an upload fails for good. */
export async function runDemo(stand: Stand, source: DemoFiles, narrator: Narrator): Promise<Outcome> {
  const files = giveTo(stand.accounts, source.files);
  let decided = 0;
  const end = new AbortController();
  const killing = killAtWork(stand, { isLate: () => 2 * decided >= files.length, signal: end.signal }).then((jobs) => {
    const { name, pid } = stand.workers[0].process;
    if (jobs !== null) narrator.say(`  ${name} (pid ${pid}) was killed with -9, and had ${jobs} jobs in hand`);
    return jobs;
  });
  killing.catch(() => {}); // Told below, where it is awaited.

  const uploads: Upload[] = [];
  const uploading = uploadAll(stand.web.url, files, uploads);
  let uploadsFailed = false;
  uploading.catch(() => {
    uploadsFailed = true; // Told below, where it is awaited.
  });

  let documents: readonly DemoDocument[] = [];
  let stuckAt = Date.now() + stuckAfterMs;
  for (; ; await delay(lookEveryMs)) {
    const uploaded = uploads.length;
    const decidedBefore = decided;
    documents = await look(stand, uploads);
    decided = documents.filter(isDecided).length + uploads.filter(isRefusal).length;
    narrator.progress({ total: files.length, uploaded, decided });
    if (uploaded === files.length && !documents.some(isLost)) break;
    if (uploadsFailed || processesDied(stand).length > 0) break;
    if (decided > decidedBefore) stuckAt = Date.now() + stuckAfterMs;
    if (Date.now() > stuckAt) break;
  }
  end.abort();
  await uploading;

  const refused = uploads.filter(isRefusal);
  return {
    uploads: uploads.length,
    documents,
    refused,
    unexpected: documents.flatMap(unexpectedIn),
    proof: await countEffects(stand),
    workersKilled: (await killing) === null ? 0 : 1,
    processesDied: processesDied(stand),
    doorbellsDropped: await countDoorbellsDropped(stand),
    score: source.manifest === null ? null : scoreDocuments(source.manifest, resultsOf(documents, refused)),
  };
}

/** A few at once. What each came to is added to `uploads` as soon as it is known. */
async function uploadAll(webUrl: string, files: readonly DemoFile[], uploads: Upload[]): Promise<void> {
  const waiting = [...files];
  const uploadInTurn = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      uploads.push(await uploadFile(webUrl, file));
    }
  };
  await Promise.all(Array.from({ length: uploadsAtOnce }, uploadInTurn));
}

function unexpectedIn({ files, shown }: DemoDocument): readonly string[] {
  return files.flatMap((file) => sampleProblems(file, shown));
}

function isRefusal(upload: Upload): upload is Refusal {
  return "refused" in upload;
}

function processesDied({ web, workers }: Stand): readonly string[] {
  return [web, ...workers].filter(({ process }) => process.hasDied).map(({ process }) => process.name);
}
