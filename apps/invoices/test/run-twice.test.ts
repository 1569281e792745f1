// The application's handlers, with a process that dies at every moment of theirs: nothing is sent twice, and nothing is lost.
import { contentKey, newId, type StoredObject } from "doorbell-jobs";
import { drain, type RunTwiceJob, type RunTwiceOptions, runTwice } from "doorbell-jobs/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeSamples, type Sample } from "../samples/make-samples.ts";
import { extractHandler } from "../src/handlers/extract.ts";
import { remindHandler } from "../src/handlers/remind.ts";
import { extractInvoice } from "../src/jobs.ts";
import { asAccount } from "../src/store/database.ts";
import { insertDocument } from "../src/store/documents.ts";
import { openStage, type Stage } from "./stage.ts";

let stage: Stage;
let samples: readonly Sample[];
const mailFrom = "invoices@example.com";
const documents = new Map<string, string>();

beforeAll(async () => {
  [stage, samples] = await Promise.all([openStage(), makeSamples()]);
});
afterAll(() => stage[Symbol.asyncDispose]());

function bytesOf(outcome: Sample["expected"]["outcome"]): Uint8Array {
  const found = samples.find(({ expected }) => expected.outcome === outcome);
  if (found === undefined) throw new Error(`no sample is ${outcome}`);
  return found.bytes;
}

/** What an upload writes, with the job's id that is given. */
async function takeIn({ tenant, id, doorbell }: RunTwiceJob, bytes: Uint8Array): Promise<StoredObject> {
  await stage.openAccount(tenant);
  const object = await doorbell.objects.put(tenant, contentKey(bytes), bytes);
  const documentId = newId();
  documents.set(tenant, documentId);
  await asAccount(stage.resources, tenant, (db) =>
    insertDocument(db, {
      account_id: tenant,
      document_id: documentId,
      job_id: id,
      sha256: object.sha256,
      size_bytes: object.size,
      file_name: "invoice",
    }),
  );
  return object;
}

const options = (): RunTwiceOptions => ({
  database: { appUrl: stage.appUrl, query: stage.db.query },
  doorbell: stage.doorbell,
  worker: { smtpUrl: stage.mailCatcher.url, allowPrivateWebhooks: true },
  received: (tenant) => [
    ...stage.receiver.deliveries.filter(({ account }) => account === tenant).map(({ webhookId }) => webhookId),
    ...stage.mailCatcher.mails.filter(({ to }) => to === `${tenant}@example.com`).map(({ messageId }) => messageId),
  ],
});
const withObject = (bytes: Uint8Array): RunTwiceOptions => {
  const objects = new Map<string, StoredObject>();
  return {
    setUp: async (job) => void objects.set(job.tenant, await takeIn(job, bytes)),
    enqueue: ({ tenant }) => {
      const object = objects.get(tenant);
      if (object === undefined) throw new Error(`nothing was uploaded for ${tenant}`);
      return { object };
    },
  };
};
const input = ({ tenant }: RunTwiceJob) => ({ documentId: documents.get(tenant) });

test("an accepted invoice survives every cut from its upload to webhook, usage and e-mail", async () => {
  const report = await runTwice(() => extractHandler(stage.doorbell, mailFrom), input, {
    ...options(),
    others: [remindHandler(mailFrom)],
    ...withObject(bytesOf("accepted")),
  });
  expect(report.cuts.map(({ at }) => at)).toEqual([
    "before_intent webhook:invoice.accepted",
    "after_intent webhook:invoice.accepted",
    "after_call webhook:invoice.accepted",
    "before_outcome webhook:invoice.accepted",
    "after_outcome webhook:invoice.accepted",
    "before_intent usage:documents",
    "after_outcome usage:documents",
    "before_intent email:received",
    "after_intent email:received",
    "after_call email:received",
    "before_outcome email:received",
    "after_outcome email:received",
    "before_settle",
  ]);
  expect(report.cuts.map(({ state }) => state)).toEqual(Array(13).fill("done"));
}, 60_000);

test("an invoice that needs a review survives every cut", async () => {
  const report = await runTwice(() => extractHandler(stage.doorbell, mailFrom), input, {
    ...options(),
    ...withObject(bytesOf("needs_review")),
  });
  expect(report.cuts).toHaveLength(6);
}, 60_000);

test("a reminder survives every cut", async () => {
  const bytes = bytesOf("accepted");
  const report = await runTwice(() => remindHandler(mailFrom), input, {
    ...options(),
    setUp: async (job) => {
      const object = await takeIn({ ...job, id: newId() }, bytes);
      await job.doorbell.enqueue(
        extractInvoice,
        { documentId: documents.get(job.tenant) ?? "" },
        { tenant: job.tenant, object },
      );
      await drain(job.doorbell, [extractHandler(job.doorbell, mailFrom)], {
        smtpUrl: stage.mailCatcher.url,
        allowPrivateWebhooks: true,
      });
    },
  });
  expect(report.cuts.map(({ at }) => at)).toEqual([
    "before_intent email:reminder",
    "after_intent email:reminder",
    "after_call email:reminder",
    "before_outcome email:reminder",
    "after_outcome email:reminder",
    "before_settle",
  ]);
}, 60_000);
