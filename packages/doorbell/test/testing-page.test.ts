// docs/testing.md: its example is a test file that runs beside this one.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const read = (relative: string): string => readFileSync(fileURLToPath(new URL(relative, import.meta.url)), "utf8");

test("the page has the example word for word", () => {
  const file = read("testing-example.test.ts");
  const example = file
    .slice(file.indexOf("\n") + 1)
    .replace("../src/index.ts", "doorbell-jobs")
    .replace("../src/testing/index.ts", "doorbell-jobs/testing");
  const blocks = [...read("../../../docs/testing.md").matchAll(/^```ts\n\/\/ pay\.test\.ts\n(.*?)^```$/gms)];
  expect(blocks.map(([, text]) => text)).toEqual([example]);
});
