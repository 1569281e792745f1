import { describe, expect, test } from "vitest";
import { findAmounts } from "./amounts.ts";

const valuesIn = (text: string) => findAmounts(text).map((found) => found.value);

describe("findAmounts", () => {
  test.each([
    ["1.234,56", "1234.56"],
    ["1,234.56", "1234.56"],
    ["1 234,56", "1234.56"],
    ["1\u202f234,56", "1234.56"],
    ["1'234.56", "1234.56"],
    ["12.345.678,90", "12345678.90"],
    ["0,79", "0.79"],
    ["-198,00", "-198.00"],
    ["€ -9,32", "-9.32"],
    ["-€9.32", "-9.32"],
    ["$10,375", "10375.00"],
    ["EUR 50", "50.00"],
  ])("reads %s", (text, value) => {
    expect(valuesIn(text)).toEqual([value]);
  });

  test.each([
    "19,00 %",
    "15.00%",
    "31.01.2014",
    "03/20/2023",
    "42",
    "10",
    "CA6707/10",
    "NL810433941B01",
    "9,9000",
    "1,234,56",
    "v1.25.3",
    "DE88 2008 0000 0970",
    "3 Stk",
  ])("finds no amount in %s", (text) => {
    expect(valuesIn(text)).toEqual([]);
  });

  test("finds several, with their places", () => {
    expect(findAmounts("TVA 81,90 € 16,38 €")).toEqual([
      { value: "81.90", start: 4, end: 9 },
      { value: "16.38", start: 12, end: 17 },
    ]);
  });

  test("leaves a currency sign to the number before it", () => {
    expect(valuesIn("12,50 € 3 Stk")).toEqual(["12.50"]);
  });

  test("takes an amount behind a day for itself", () => {
    expect(valuesIn("due on August 3 , 2014 $4.11")).toEqual(["4.11"]);
  });
});
