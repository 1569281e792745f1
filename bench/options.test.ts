import { expect, it } from "vitest";
import { readOptions } from "./options.ts";

const rowsOf = (...args: readonly string[]): readonly string[] | undefined =>
  readOptions(args)?.rows.map(({ name }) => name);

it("measures every row but those that are there on request", () => {
  expect(rowsOf("--quick")).toContain("process");
  expect(rowsOf("--quick")).not.toContain("queues");
  expect(rowsOf()).not.toContain("queues");
});

it("measures a row on request when it is named", () => {
  expect(rowsOf("--quick", "--row", "queues")).toEqual(["queues"]);
});
