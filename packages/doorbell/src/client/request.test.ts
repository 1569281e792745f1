import { expect, test } from "vitest";
import { defineJob } from "../core/definition.ts";
import { enqueueRow } from "./request.ts";

test("an instant that Postgres could not read is refused before any SQL", async () => {
  const job = defineJob({ kind: "work" });
  const row = (runAfter: Date) => enqueueRow(job, {}, { tenant: "acme", runAfter }, { valueMaxBytes: 1_000 });
  for (const bad of [new Date(Number.NaN), new Date(8.64e15), new Date(-8.64e15), new Date(Date.UTC(10_000, 0))])
    await expect(row(bad)).rejects.toMatchObject({ code: "option_invalid" });
  expect((await row(new Date(Date.UTC(9_999, 11, 31)))).runAfter).toEqual({ at: "9999-12-31T00:00:00.000Z" });
});
