import { expect, test } from "vitest";
import { z } from "zod";
import { defineJob, parsePayload } from "./definition.ts";

test("a definition has its defaults filled in, and is frozen", () => {
  const job = defineJob({ kind: "invoice.extract" });
  expect(job).toMatchObject({
    kind: "invoice.extract",
    lane: "default",
    schema: null,
    timeoutMs: 300_000,
    retry: { maxAttempts: 10 },
  });
  expect(Object.isFrozen(job)).toBe(true);
});

test.each([
  [{ kind: "" }, "kind"],
  [{ kind: "x".repeat(201) }, "kind"],
  [{ kind: "k", lane: "Not A Lane" }, "lane"],
  [{ kind: "k", timeout: "soon" }, "timeout of job kind k"],
  [{ kind: "k", retry: { maxAttempts: 0 } }, "maxAttempts"],
])("%o is refused, and the message names the option", (options, name) => {
  expect(() => defineJob(options)).toThrow(name);
});

test("a payload comes back as the schema makes it, or is refused with each path", async () => {
  const job = defineJob({
    kind: "k",
    payload: z.object({ n: z.coerce.number(), items: z.array(z.object({ id: z.uuid() })) }),
  });
  const id = crypto.randomUUID();
  expect(await parsePayload(job, { n: "7", items: [{ id }] })).toEqual({ n: 7, items: [{ id }] });
  await expect(parsePayload(job, { n: "x", items: [{ id: "no" }] })).rejects.toMatchObject({
    code: "payload_invalid",
    message: expect.stringMatching(/n: .*items\.0\.id: /),
  });
});
