import { describe, expect, test } from "vitest";
import { printedLines } from "../../../test/documents/printed-lines.ts";
import { choose } from "./candidate.ts";
import { currencyCandidates } from "./currency.ts";

const currency = (drawing: string) => {
  const choice = choose(currencyCandidates(printedLines(drawing)));
  return choice === null ? null : [choice.value, choice.evidence, choice.rivals];
};

describe("currencyCandidates", () => {
  test.each([
    ["Total 12,50 €", "EUR"],
    ["Total £12.50", "GBP"],
    ["Factuur totaal EUR   49,99", "EUR"],
    ["104,90 EUR", "EUR"],
    ["CHF 12.50", "CHF"],
    ["Währung: EUR", "EUR"],
    ["DEVISE : EURO (EUR)", "EUR"],
  ])("reads %s", (drawing, code) => {
    expect(currency(drawing)).toEqual([code, "label", []]);
  });

  test("knows a dollar as American only where the document says so", () => {
    expect(currency("Total $12.50")).toEqual(["USD", "hint", []]);
    expect(currency("All prices are in US Dollars\nTotal $12.50")).toEqual(["USD", "label", []]);
    expect(currency("Fremont CA 94538\nTotal $12.50")).toEqual(["USD", "label", []]);
    expect(currency("Seattle, WA 98109\nToronto, Canada\nTotal $12.50")).toEqual(["USD", "hint", []]);
  });

  test("reports every currency there is, most frequent first", () => {
    expect(currency("GBP 163,16\nEUR 183,14\n12,00 EUR")).toEqual(["EUR", "label", ["GBP"]]);
  });

  test.each(["Total 12,50", "VAT 20", "ALL 12 items", "BTW 21", "CPU 12"])("finds none in %s", (drawing) => {
    expect(currency(drawing)).toBeNull();
  });
});
