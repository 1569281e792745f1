// The run itself: uploads, a kill in the middle, waiting until every job has come to an end, and the counting.
import { setTimeout as delay } from "node:timers/promises";
import { scoreDocuments } from "../../apps/invoices/src/documents/score.ts";
import type { DocumentView } from "../../apps/invoices/src/store/views.ts";
import { listDocuments, type Upload, uploadFile } from "./client.ts";
import { type DemoFile, type DemoFiles, sampleProblems } from "./files.ts";
import { killAtWork } from "./killing.ts";
import type { LedgerCount } from "./ledger.ts";
import type { Narrator } from "./narrator.ts";
import { type DemoDocument, isFinal, type Outcome, type Refusal, resultsOf } from "./outcome.ts";
import { prove } from "./proof.ts";
import type { Stand } from "./stand.ts";

const uploadsAtOnce = 3;
const lookEveryMs = 250;
/** A hostile document may take half a minute, twice if it was being read by the worker that was killed. */
const endWithinMs = 150_000;
/** Workers say how they do every two seconds. */
const heartbeatWithinMs = 6_000;

export async function runDemo(stand: Stand, { files, manifest }: DemoFiles, narrator: Narrator): Promise<Outcome> {
  let decided = 0;
  const ended = new AbortController();
  const isLate = (): boolean => 2 * decided >= files.length;
  const killing = killAtWork(stand, { isLate, signal: ended.signal }).then((jobs) => {
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
  for (const until = Date.now() + endWithinMs; Date.now() < until; await delay(lookEveryMs)) {
    const uploaded = uploads.length;
    documents = await look(stand, uploads.slice(0, uploaded));
    decided = documents.filter(({ shown }) => shown.state !== "received").length + refusedOf(uploads).length;
    narrator.progress({ total: files.length, uploaded, decided });
    if (uploaded === files.length && documents.every(({ jobState }) => isFinal(jobState))) break;
    if (uploadsFailed || processesDied(stand).length > 0) break;
  }
  ended.abort();
  await uploading;

  const refused = refusedOf(uploads);
  return {
    uploads: uploads.length,
    documents,
    refused,
    unexpected: documents.flatMap(unexpectedIn),
    proof: prove(await countAll(stand), stand.receiver.deliveries, stand.mailCatcher.mails),
    workersKilled: (await killing) === null ? 0 : 1,
    processesDied: processesDied(stand),
    doorbellsDropped: await doorbellsDropped(stand),
    score: manifest === null ? null : scoreDocuments(manifest, resultsOf(documents, refused)),
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

/** Every document that was taken in so far: as its account is shown it, and as the ledger has its job. */
async function look(stand: Stand, uploads: readonly Upload[]): Promise<readonly DemoDocument[]> {
  const filesOf = new Map<string, DemoFile[]>();
  const jobOf = new Map<string, string | null>();
  for (const upload of uploads) {
    if (!("taken" in upload)) continue;
    const { id, jobId } = upload.taken;
    filesOf.set(id, [...(filesOf.get(id) ?? []), upload.file]);
    jobOf.set(id, jobId);
  }
  const documents: DemoDocument[] = [];
  for (const account of stand.accounts) {
    const shown = new Map((await listDocuments(stand.web.url, account)).map((document) => [document.id, document]));
    const states = new Map((await stand.ledger.jobs(account.id)).map(({ id, state }) => [id, state]));
    const letters = new Map((await stand.ledger.deadLetters(account.id)).map((letter) => [letter.id, letter]));
    for (const [id, files] of filesOf) {
      if (files[0]?.account !== account) continue;
      const jobId = jobOf.get(id) ?? null;
      const jobState = states.get(jobId ?? "") ?? null;
      const deadLetter = letters.get(jobId ?? "") ?? null;
      documents.push({ account, files, shown: shown.get(id) ?? missing(id), jobId, jobState, deadLetter });
    }
  }
  return documents;
}

function missing(id: string): DocumentView {
  throw new Error(`document ${id} was taken in, and is not shown to its account`);
}

function unexpectedIn({ files, shown }: DemoDocument): readonly string[] {
  return files.flatMap((file) => sampleProblems(file, shown));
}

function refusedOf(uploads: readonly Upload[]): readonly Refusal[] {
  return uploads.filter((upload): upload is Refusal => "refused" in upload);
}

function processesDied({ web, workers }: Stand): readonly string[] {
  return [web, ...workers].filter(({ process }) => process.hasDied).map(({ process }) => process.name);
}

async function countAll({ accounts, ledger }: Stand): Promise<readonly LedgerCount[]> {
  return await Promise.all(accounts.map(({ id }) => ledger.count(id)));
}

/** Waits until the worker that lives has said how many it dropped in the end. */
async function doorbellsDropped({ workers, ledger }: Stand): Promise<number> {
  const pids = workers.map(({ process }) => process.pid);
  const alive = workers.filter(({ process }) => process.isAlive).map(({ process }) => process.pid);
  const now = new Date();
  for (const until = Date.now() + heartbeatWithinMs; ; await delay(lookEveryMs)) {
    const { dropped, heard } = await ledger.doorbellsDropped(pids, now);
    if (heard >= alive.length || Date.now() > until) return dropped;
  }
}
