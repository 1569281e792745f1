import { describe, expect, it } from "vitest";
import { advantage, median, quantile } from "./statistics.ts";

describe("median", () => {
  it("is the middle value, whatever the order", () => expect(median([9, 1, 5])).toBe(5));
  it("is the mean of the two middle values of an even count", () => expect(median([4, 1, 3, 2])).toBe(2.5));
  it("refuses an empty list", () => expect(() => median([])).toThrow("at least one value"));
});

describe("quantile", () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
  it("is by nearest rank", () => {
    expect(quantile(hundred, 0.5)).toBe(50);
    expect(quantile(hundred, 0.99)).toBe(99);
  });
  it("stays inside the values at both ends", () => {
    expect(quantile(hundred, 0)).toBe(1);
    expect(quantile(hundred, 1)).toBe(100);
  });
});

describe("advantage", () => {
  it("is above 1 when our rate is higher", () => expect(advantage(200, 100, "higher")).toBe(2));
  it("is above 1 when our latency is lower", () => expect(advantage(1, 3, "lower")).toBe(3));
});
