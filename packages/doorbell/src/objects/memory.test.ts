import { expect, test } from "vitest";
import { bucketCases } from "../testing/bucket-suite.ts";
import { Bucket } from "./bucket.ts";
import { memoryDriver } from "./memory.ts";

const bucket = new Bucket(memoryDriver());
for (const { title, run } of bucketCases) test(title, () => run(bucket));

test("a memory bucket says that it does not survive", () => {
  expect(bucket.capabilities.durable).toBe(false);
});
