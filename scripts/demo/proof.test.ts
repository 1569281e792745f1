// The proof has to be able to fail: each figure is shown to move when what it counts goes wrong.
import { describe, expect, test } from "vitest";
import type { CaughtMail } from "../../apps/invoices/test/counterparts/mail-catcher.ts";
import type { Delivery } from "../../apps/invoices/test/counterparts/webhook-receiver.ts";
import { failures, type Outcome, summary } from "./outcome.ts";
import { prove } from "./proof.ts";

const delivery = (webhookId: string, documentId: string, repeat = false): Delivery => ({
  webhookId,
  event: "invoice.accepted",
  documentId,
  account: "acme",
  at: new Date(0),
  repeat,
});
const mail = (messageId: string): CaughtMail => ({ messageId, to: "a@example.com", subject: "", text: "" });
const count = { webhooks: 2, mails: 1, overDoubt: 0, documentsCounted: 0, attemptsLost: 0 };
const good = prove([count], [delivery("m1", "d1"), delivery("m2", "d2")], [mail("<1>")]);
const outcome: Outcome = {
  uploads: 0,
  documents: [],
  refused: [],
  unexpected: [],
  proof: good,
  workersKilled: 1,
  processesDied: [],
  doorbellsDropped: 1,
  score: null,
};

test("effects that came once each, as the ledger asked for them, are nothing to complain of", () => {
  expect(good).toMatchObject({
    effectsRequested: 2,
    effectsDelivered: 2,
    effectsDeliveredTwice: 0,
    redeliveriesInDoubt: 0,
  });
  expect(failures(outcome)).toEqual([]);
});

describe("it does not hold when", () => {
  test("an effect was processed twice, under two ids", () => {
    const proof = prove([count], [delivery("m1", "d1"), delivery("m2", "d2"), delivery("m3", "d2")], [mail("<1>")]);
    expect(proof).toMatchObject({ effectsDelivered: 2, effectsDeliveredTwice: 1 });
    expect(failures({ ...outcome, proof })).toEqual(["1 webhooks were processed twice"]);
  });

  test("an effect never came", () => {
    const proof = prove([count], [delivery("m1", "d1")], []);
    expect(failures({ ...outcome, proof })).toHaveLength(2);
  });

  test("something came again although the ledger was in no doubt", () => {
    const again = [delivery("m1", "d1"), delivery("m2", "d2"), delivery("m2", "d2", true)];
    expect(failures({ ...outcome, proof: prove([count], again, [mail("<1>")]) })).toHaveLength(1);
    expect(failures({ ...outcome, proof: prove([count], again.slice(0, 2), [mail("<1>"), mail("<1>")]) })).toHaveLength(
      1,
    );
    const inDoubt = prove([{ ...count, overDoubt: 1 }], again, [mail("<1>")]);
    expect(inDoubt).toMatchObject({ effectsDelivered: 2, effectsDeliveredTwice: 0, redeliveriesInDoubt: 1 });
    expect(failures({ ...outcome, proof: inDoubt })).toEqual([]);
  });

  test.each<[string, Partial<Outcome>]>([
    ["no worker was killed", { workersKilled: 0 }],
    ["a process died by itself", { processesDied: ["web"] }],
    ["no doorbell was dropped", { doorbellsDropped: 0 }],
    ["a sample did not end as it must", { unexpected: ["a.pdf is accepted"] }],
  ])("%s", (_, change) => {
    expect(failures({ ...outcome, ...change })).toHaveLength(1);
  });
});

test("the line for programs has every figure, also those that are 0", () => {
  expect(summary(outcome)).toMatchObject({ documents: 0, done: 0, needsReview: 0, deadLetters: 0, jobsLost: 0 });
});
