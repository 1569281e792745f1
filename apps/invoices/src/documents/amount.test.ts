import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { amountsAgree, compareAmounts, parseDecimal, percentOf, subtractAmounts, sumAmounts } from "./amount.ts";

describe("parseDecimal", () => {
  test.each([
    ["1125", "1125.00"],
    ["-12.5", "-12.50"],
    ["+7.125", "7.125"],
    ["0012.00", "12.00"],
    [".5", "0.50"],
    [" 3.10 ", "3.10"],
    ["-0", "0.00"],
  ])("reads %s as %s", (text, amount) => {
    expect(parseDecimal(text)).toBe(amount);
  });

  test.each(["", ".", "-", "1,5", "1.2.3", "1e3", "NaN", "12 345", "0x10", "9".repeat(19), `0.${"1".repeat(11)}`])(
    "refuses %j rather than guess",
    (text) => {
      expect(parseDecimal(text)).toBeNull();
    },
  );
});

describe("arithmetic", () => {
  test("adds what floating point cannot", () => {
    expect(sumAmounts(["0.10", "0.20"])).toBe("0.30");
    expect(sumAmounts(["90071992547409.93", "0.01"])).toBe("90071992547409.94");
  });

  test("sums nothing to zero", () => {
    expect(sumAmounts([])).toBe("0.00");
  });

  test("takes percentages exactly", () => {
    expect(percentOf("112.90", "15.00")).toBe("16.935");
    expect(percentOf("-100.00", "5.50")).toBe("-5.50");
  });

  test("tolerates as many cents as it is told, and no fraction more", () => {
    expect(amountsAgree("100.00", "100.02", 2)).toBe(true);
    expect(amountsAgree("100.00", "100.0201", 2)).toBe(false);
    expect(amountsAgree("100.00", "-100.00")).toBe(false);
  });

  const cents = fc.integer({ min: -1_000_000_000, max: 1_000_000_000 });
  const amountOf = (value: number) => parseDecimal((value / 100).toFixed(2)) ?? "";

  test("agrees with whole cents, whatever the signs", () => {
    fc.assert(
      fc.property(cents, cents, (left, right) => {
        expect(sumAmounts([amountOf(left), amountOf(right)])).toBe(amountOf(left + right));
        expect(subtractAmounts(amountOf(left), amountOf(right))).toBe(amountOf(left - right));
        expect(Math.sign(compareAmounts(amountOf(left), amountOf(right)))).toBe(Math.sign(left - right));
      }),
    );
  });
});
