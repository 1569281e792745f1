// An invoice from upload to webhook, with real documents, a real Postgres, a receiver and a mail server.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeBill } from "../samples/bill.ts";
import { makeSamples, type Sample } from "../samples/make-samples.ts";
import { ublXml } from "../samples/ubl-xml.ts";
import { remindInvoice } from "../src/jobs.ts";
import { openStage, type Stage } from "./stage.ts";
import { getDocument, settled, upload } from "./upload.ts";

let stage: Stage;
let samples: readonly Sample[];

beforeAll(async () => {
  [stage, samples] = await Promise.all([openStage(), makeSamples()]);
  await stage.startWorker();
});
afterAll(() => stage[Symbol.asyncDispose]());

/** The first sample that ends like this. */
function sampleThatIs(outcome: Sample["expected"]["outcome"], reason: string | null = null): Sample {
  const found = samples.find(
    ({ expected }) => expected.outcome === outcome && (reason === null || expected.reason === reason),
  );
  if (found === undefined) throw new Error(`no sample is ${outcome} (${reason})`);
  return found;
}

const webhooksOf = (account: string) => stage.receiver.deliveries.filter((delivery) => delivery.account === account);
const mailsOf = (account: string) => stage.mailCatcher.mails.filter((mail) => mail.to === `${account}@example.com`);
const usageOf = async (account: string): Promise<number> => {
  const sql =
    "select coalesce(sum(amount), 0)::int as used from doorbell.usage_counters where tenant_id = $1 and meter = 'documents'";
  const [row] = await stage.db.query<{ used: number }>(sql, [account]);
  return row?.used ?? -1;
};

describe("an accepted invoice", () => {
  test("is stored as it was read, and told by webhook, counted and mailed, once each", async () => {
    const account = await stage.openAccount("accepted");
    const { bytes, name, expected } = sampleThatIs("accepted");
    const { id, jobId, duplicate } = await upload(account, bytes, name);
    expect(duplicate).toBe(false);

    const document = await settled(account, id);
    expect(document).toMatchObject({
      state: "accepted",
      fileName: name,
      reasons: [],
      job: { id: jobId, state: "done" },
    });
    expect(document.invoice).toMatchObject({ ...expected.fields });
    expect(webhooksOf(account.id)).toMatchObject([{ event: "invoice.accepted", documentId: id, repeat: false }]);
    expect(await usageOf(account.id)).toBe(1);
    expect(mailsOf(account.id)).toMatchObject([{ subject: expect.stringContaining(String(expected.fields?.number)) }]);
  });

  test("of the same bytes is the same document and the same job, and says so", async () => {
    const account = await stage.openAccount("same-bytes");
    const { bytes } = sampleThatIs("accepted");
    const [first, second] = await Promise.all([upload(account, bytes, "a.pdf"), upload(account, bytes, "b.pdf")]);
    const third = await upload(account, bytes, "c.pdf");
    expect(second).toMatchObject({ id: first.id, jobId: first.jobId });
    expect([first.duplicate, second.duplicate].sort()).toEqual([false, true]);
    expect(third).toEqual({ id: first.id, jobId: first.jobId, duplicate: true });

    await settled(account, first.id);
    const jobs = await stage.db.query("select id from doorbell.all_jobs where tenant_id = $1", [account.id]);
    expect(jobs).toEqual([{ id: first.jobId }]);
    expect(webhooksOf(account.id)).toHaveLength(1);
  });

  test("of the same bytes is another document in another account", async () => {
    const [one, other] = [await stage.openAccount("bytes-one"), await stage.openAccount("bytes-other")];
    const { bytes } = sampleThatIs("accepted");
    const [first, second] = [await upload(one, bytes), await upload(other, bytes)];
    expect(second.duplicate).toBe(false);
    expect(second.id).not.toBe(first.id);
    expect((await settled(other, second.id)).state).toBe("accepted");
  });

  test("is reminded of a few days before it is due, and once", async () => {
    const account = await stage.openAccount("reminded");
    const day = (fromNow: number) => new Date(Date.now() + fromNow * 86_400_000).toISOString().slice(0, 10);
    const bill = { ...makeBill("acme", 2), date: day(-1), dueDate: day(30) };
    const { id } = await upload(account, ublXml(bill));
    expect((await settled(account, id)).state).toBe("accepted");

    const sql = "select id, state, run_after from doorbell.all_jobs where tenant_id = $1 and kind = 'invoice.remind'";
    const scheduled = await stage.db.query<{ id: string; state: string; run_after: Date }>(sql, [account.id]);
    expect(scheduled).toMatchObject([{ state: "queued", run_after: new Date(`${day(27)}T00:00:00Z`) }]);

    // Its day has come.
    const mailed = mailsOf(account.id).length;
    const now = await stage.doorbell.enqueue(remindInvoice, { documentId: id }, { tenant: account.id });
    await expect.poll(() => mailsOf(account.id).length, { timeout: 10_000 }).toBe(mailed + 1);
    expect(mailsOf(account.id).at(-1)?.subject).toBe(`Invoice ${bill.number} is due on ${bill.dueDate}`);
    expect(now.created).toBe(true);
  });
});

describe("an attempt that fails after the invoice was stored", () => {
  test("is made again from the top, and what it did already is not done twice", async () => {
    const account = await stage.openAccount("made-again");
    const setWebhook = (url: string) =>
      stage.db.query("update invoices.accounts set webhook_url = $2 where account_id = $1", [account.id, url]);
    await setWebhook("http://127.0.0.1:1/nobody-listens");
    const { id } = await upload(account, ublXml(makeBill("acme", 6)));
    await expect
      .poll(async () => (await getDocument(account, id)).job, { timeout: 15_000 })
      .toMatchObject({ state: "queued", attempts: 1 });
    expect((await getDocument(account, id)).state).toBe("accepted");

    await setWebhook(stage.receiver.urlOf(account.id));
    const document = await settled(account, id, 2);
    // Its own number has not come before.
    expect(document).toMatchObject({ state: "accepted", reasons: [], job: { state: "done", attempts: 2 } });
    expect(webhooksOf(account.id)).toMatchObject([{ event: "invoice.accepted", repeat: false }]);
    expect(await usageOf(account.id)).toBe(1);
    expect(mailsOf(account.id)).toHaveLength(1);
  });
});

describe("an invoice that is not accepted", () => {
  test("needs review when its sums do not add up: what was read is kept, with the reason, and no mail is sent", async () => {
    const account = await stage.openAccount("review");
    const { bytes, expected } = sampleThatIs("needs_review", "BR-CO-15");
    const { id } = await upload(account, bytes);
    const document = await settled(account, id);
    expect(document).toMatchObject({ state: "needs_review", job: { state: "done" } });
    expect(document.reasons.map((reason) => reason.code)).toContain("BR-CO-15");
    expect(document.invoice).toMatchObject({ number: expected.fields?.number });
    expect(webhooksOf(account.id)).toMatchObject([{ event: "invoice.needs_review", documentId: id }]);
    expect(mailsOf(account.id)).toEqual([]);
    expect(await usageOf(account.id)).toBe(0);
  });

  test("needs review when the seller's number has come before in other bytes, and only within the account", async () => {
    const [account, other] = [await stage.openAccount("number"), await stage.openAccount("number-other")];
    const xml = ublXml(makeBill("acme", 4));
    const again = Buffer.concat([xml, Buffer.from("\n")]);
    const first = await upload(account, xml);
    expect((await settled(account, first.id)).state).toBe("accepted");

    const second = await upload(account, again);
    const document = await settled(account, second.id);
    expect(second.duplicate).toBe(false);
    expect(document.state).toBe("needs_review");
    expect(document.reasons).toMatchObject([{ code: "duplicate_number", message: expect.stringContaining(first.id) }]);

    expect((await settled(other, (await upload(other, again)).id)).state).toBe("accepted");
  });

  test("of two with one number that come at the same time, exactly one is accepted", async () => {
    const account = await stage.openAccount("number-race");
    const xml = ublXml(makeBill("acme", 5));
    const copies = [0, 1, 2, 3].map((blanks) => Buffer.concat([xml, Buffer.from("\n".repeat(blanks))]));
    const uploads = await Promise.all(copies.map((copy) => upload(account, copy)));
    const documents = await Promise.all(uploads.map(({ id }) => settled(account, id)));
    expect(documents.filter(({ state }) => state === "accepted")).toHaveLength(1);
    expect(documents.filter(({ state }) => state === "needs_review")).toHaveLength(3);
  });

  test("is a dead letter with a reason when nobody can read it, and its document says the same", async () => {
    const account = await stage.openAccount("rejected");
    const { bytes, expected } = sampleThatIs("rejected");
    const { id, jobId } = await upload(account, bytes);
    const document = await settled(account, id);
    expect(document).toMatchObject({ state: "rejected", invoice: null, job: { state: "failed", attempts: 1 } });
    expect(document.reasons).toMatchObject([{ code: expected.reason }]);

    const sql = "select id, error_code, last_error from doorbell.dead_letters where tenant_id = $1";
    const letters = await stage.db.query(sql, [account.id]);
    expect(letters).toMatchObject([{ id: jobId, error_code: expected.reason }]);
    expect(webhooksOf(account.id)).toEqual([]);
  });
});

describe("a replay", () => {
  test("reads the same bytes again, writes the result again, and repeats no effect", async () => {
    const account = await stage.openAccount("replayed");
    const { bytes, expected } = sampleThatIs("accepted");
    const { id, jobId } = await upload(account, bytes);
    await settled(account, id);
    await stage.db.query("update invoices.extracted_invoices set total = 0 where account_id = $1", [account.id]);

    await stage.db.query("select doorbell.replay($1, array[$2::uuid])", [account.id, jobId]);
    const document = await settled(account, id, 2);
    expect(document).toMatchObject({ state: "accepted", job: { id: jobId, attempts: 2 } });
    const sql = "select total from invoices.extracted_invoices where account_id = $1";
    expect(await stage.db.query(sql, [account.id])).toEqual([{ total: expected.fields?.total }]);
    expect(webhooksOf(account.id)).toHaveLength(1);
    expect(mailsOf(account.id)).toHaveLength(1);
    expect(await usageOf(account.id)).toBe(1);
  });
});

describe("another account", () => {
  test("gets the same answer for a document of somebody else as for one that never was", async () => {
    const [owner, stranger] = [await stage.openAccount("owner"), await stage.openAccount("stranger")];
    const { id } = await upload(owner, sampleThatIs("accepted").bytes);
    const theirs = await stranger.fetch(`/invoices/${id}`);
    const nobodys = await stranger.fetch("/invoices/01900000-0000-7000-8000-000000000000");
    expect([theirs.status, nobodys.status]).toEqual([404, 404]);
    expect(((await theirs.json()) as { code: string }).code).toBe(((await nobodys.json()) as { code: string }).code);
    expect(await (await stranger.fetch("/invoices")).json()).toEqual({ invoices: [] });

    expect((await getDocument(owner, id)).id).toBe(id);
    expect(await (await owner.fetch("/invoices")).json()).toMatchObject({ invoices: [{ id }] });
  });
});
