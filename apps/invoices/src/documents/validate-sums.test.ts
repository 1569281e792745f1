import { describe, expect, test } from "vitest";
import { invoiceWith } from "../../test/documents/invoice-with.ts";
import { checkSums } from "./validate-sums.ts";

const codes = (changes: Parameters<typeof invoiceWith>[0]) =>
  checkSums(invoiceWith(changes)).map((finding) => finding.code);

const lines = (...nets: string[]) => nets.map((net) => ({ name: null, net }));

describe("checkSums", () => {
  test("BR-CO-10: positions sum to the line total, exactly", () => {
    expect(codes({ lineTotal: "100.00", lines: lines("720.81", "0.01", "-620.82") })).toEqual([]);
    expect(codes({ lineTotal: "100.00", lines: lines("99.99") })).toEqual(["BR-CO-10"]);
    expect(codes({ lineTotal: "100.00", lines: [] })).toEqual([]);
  });

  test("BR-CO-13: line total less allowances plus charges is the net", () => {
    expect(codes({ lineTotal: "110.00", allowances: "15.00", charges: "5.00" })).toEqual([]);
    expect(codes({ lineTotal: "110.00", allowances: "15.00" })).toEqual(["BR-CO-13"]);
  });

  test("BR-CO-14: VAT of all rates is the VAT, within a cent a position", () => {
    const rows = (amount: string) => [{ rate: null, basis: null, amount }];
    expect(codes({ vatRows: rows("20.01") })).toEqual([]);
    expect(codes({ vatRows: rows("20.02") })).toEqual(["BR-CO-14"]);
    expect(codes({ vatRows: rows("20.02"), lines: lines("60.00", "40.00") })).toEqual([]);
  });

  test("BR-CO-15: net and VAT are the total, to the cent, and the message has the figures", () => {
    expect(codes({ total: "120.01", due: null })).toEqual(["BR-CO-15"]);
    const [finding] = checkSums(invoiceWith({ net: "314.86", vat: "22.04", total: "363.90", due: null }));
    expect(finding?.message).toBe("The net 314.86 plus VAT 22.04 is 336.90, but the total is stated as 363.90.");
  });

  test("BR-CO-16: total less prepaid plus rounding is what is due", () => {
    expect(codes({ due: "70.00", prepaid: "50.00" })).toEqual([]);
    expect(codes({ due: "120.05", rounding: "0.05" })).toEqual([]);
    expect(codes({ due: "70.00" })).toEqual(["BR-CO-16"]);
  });

  test("BR-CO-17: each rate gives its VAT, within a cent a position", () => {
    const row = (amount: string) => [{ rate: "15.00", basis: "133.35", amount }];
    expect(codes({ vatRows: row("20.00") })).toEqual([]);
    expect(codes({ vatRows: row("20.02"), vat: "20.02", total: "120.02", due: "120.02" })).toEqual(["BR-CO-17"]);
  });

  test.each(["urn:factur-x.eu:1p0:minimum", "urn:factur-x.eu:1p0:basicwl"])(
    "does not ask %s for sums that it has no fields for",
    (profile) => {
      expect(codes({ profile, due: "70.00", lineTotal: "100.00", lines: lines("99.99") })).toEqual([]);
      expect(codes({ profile, total: "121.00" })).toEqual(["BR-CO-15"]);
    },
  );

  test("does not expect the printed amount due to follow from the printed total", () => {
    expect(codes({ source: "text", due: "610.00" })).toEqual([]);
  });

  test("checks nothing that is not stated", () => {
    expect(codes({ net: null, vat: null, total: null, due: null })).toEqual([]);
  });
});
