import { describe, expect, test } from "vitest";
import { sampleAccounts } from "./bill.ts";
import { makeSamples } from "./make-samples.ts";

describe("makeSamples", () => {
  test("makes the same bytes every time, and quickly", async () => {
    const startedAt = performance.now();
    const first = await makeSamples();
    expect(performance.now() - startedAt).toBeLessThan(5000);
    expect(await makeSamples()).toEqual(first);
  });

  test("gives every account as many as asked, under names and contents that do not repeat", async () => {
    const samples = await makeSamples({ perAccount: 40 });
    for (const account of sampleAccounts) {
      const own = samples.filter((sample) => sample.account === account);
      expect(own).toHaveLength(40);
      expect(new Set(own.map((sample) => sample.name)).size).toBe(40);
      expect(new Set(own.map((sample) => Buffer.from(sample.bytes).toString("base64"))).size).toBe(40);
    }
  });

  test("has each way to end in it", async () => {
    const samples = await makeSamples();
    const reasons = new Set(samples.map((sample) => sample.expected.reason));
    expect(reasons).toEqual(new Set([null, "BR-CO-15", "no_text_layer", "pdf_encrypted", "pdf_corrupt"]));
  });
});
