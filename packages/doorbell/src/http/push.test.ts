import { expect, test } from "vitest";
import { createMetrics } from "../telemetry/metrics.ts";
import { pushRoute, readPush } from "./push.ts";

const secret = "a-secret-that-only-the-queue-has-got";
const bell = { job_id: "01890a5d-ac96-774b-bcce-b302099a8057", tenant_id: "acme" };

const push = (body: unknown, init: RequestInit = {}, query = ""): Request =>
  new Request(`http://localhost/v1/push${query}`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}` },
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...init,
  });

test.each([
  ["a doorbell", bell, 1, 0],
  ["several, with junk between them", [bell, 7, null, bell, { job_id: "x" }], 2, 3],
  ["an envelope of Google Pub/Sub", { message: { data: btoa(JSON.stringify(bell)), messageId: "1" } }, 1, 0],
  ["an envelope of SNS", { Type: "Notification", Message: JSON.stringify(bell) }, 1, 0],
  ["an envelope with junk in it", { message: { data: "!!!" } }, 0, 1],
  ["what is no JSON", "hello", 0, 1],
  ["nothing", "", 0, 1],
])("%s is read", async (_, body, doorbells, junk) => {
  expect(await readPush(push(body), secret)).toEqual({ doorbells: Array(doorbells).fill(bell), junk });
});

test("without the secret, with another one, too long, or not posted, nothing is read", async () => {
  const status = async (request: Request): Promise<number> => ((await readPush(request, secret)) as Response).status;
  expect(await status(push(bell, { headers: {} }))).toBe(401);
  expect(await status(push(bell, { headers: { authorization: "Bearer x" } }))).toBe(401);
  expect(await status(push(bell, { headers: { authorization: `Basic ${secret}` } }))).toBe(401);
  expect(await status(push(bell, { headers: {} }, "?token=guess"))).toBe(401);
  expect(await status(push("x".repeat(65_537)))).toBe(413);
  expect(await status(new Request("http://localhost/v1/push"))).toBe(405);
  expect(await readPush(push(bell, { headers: {} }, `?token=${encodeURIComponent(secret)}`), secret)).toMatchObject({
    junk: 0,
  });
});

test("a push is answered when its claim is decided, is to come again when no slot is free, and junk is counted", async () => {
  const metrics = createMetrics();
  const claimed: unknown[] = [];
  let free = true;
  const answer = pushRoute(
    secret,
    async (doorbells) => {
      if (free) claimed.push(...doorbells);
      return free;
    },
    metrics,
  );
  expect((await answer(push([bell, "junk"]))).status).toBe(204);
  free = false;
  const refused = await answer(push(bell));
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(claimed).toEqual([bell]);
  expect((await metrics.expose()).body).toContain('doorbell_doorbells_dropped_total{reason="junk"} 1');
  metrics.close();
});
