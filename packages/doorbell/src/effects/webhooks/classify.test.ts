import { expect, test } from "vitest";
import { classifyAnswer, classifyFailure } from "./classify.ts";
import { BlockedAddressError } from "./guarded-connector.ts";

const answer = (status: number, retryAfter: string | null = null) => ({
  status,
  retryAfter,
  summary: `answered ${status}`,
});

test.each([200, 201, 202, 204, 299])("%d is completed", (status) => {
  expect(classifyAnswer(answer(status), 0)).toEqual({ outcome: "completed", status });
});

test.each([408, 409, 425, 429, 503, 302, 303, 307])("%d was not taken and may be tried again", (status) => {
  expect(classifyAnswer(answer(status), 0)).toEqual({ outcome: "not_done", reason: `answered ${status}` });
});

test.each([300, 301, 304, 308, 400, 401, 403, 404, 405, 410, 413, 421, 422, 451, 499])(
  "%d is not done, for good",
  (status) => {
    expect(classifyAnswer(answer(status), 0)).toEqual({
      outcome: "not_done",
      reason: `answered ${status}`,
      permanent: true,
    });
  },
);

test.each([500, 501, 502, 504, 520, 599, 999])("%d says nothing about what was done", (status) => {
  expect(classifyAnswer(answer(status), 0)).toEqual({ outcome: "unknown", reason: `answered ${status}` });
});

test.each([
  ["120", 120_000],
  [" 5 ", 5_000],
  ["86400", 3_600_000],
  ["Thu, 01 Jan 1970 00:01:40 GMT", 90_000],
  ["Thu, 01 Jan 2070 00:00:00 GMT", 3_600_000],
])("Retry-After %j is %d ms from ten seconds past the epoch", (text, retryAfterMs) => {
  for (const status of [429, 503]) expect(classifyAnswer(answer(status, text), 10)).toMatchObject({ retryAfterMs });
});

test.each(["", "0", "-5", "soon", "1e3", "Thu, 01 Jan 1970 00:00:01 GMT"])(
  "Retry-After %j is as good as none",
  (text) => {
    expect(classifyAnswer(answer(503, text), 10)).toEqual({ outcome: "not_done", reason: "answered 503" });
  },
);

test("Retry-After counts only where the receiver says that it is busy", () => {
  expect(classifyAnswer(answer(404, "120"), 0)).not.toHaveProperty("retryAfterMs");
  expect(classifyAnswer(answer(500, "120"), 0)).not.toHaveProperty("retryAfterMs");
});

test("a failure before sending proves that nothing happened, one after it proves nothing", () => {
  const error = new Error("read ECONNRESET");
  expect(classifyFailure(error, "h.example", false)).toEqual({
    outcome: "not_done",
    reason: "h.example: read ECONNRESET",
  });
  expect(classifyFailure(error, "h.example", true)).toMatchObject({ outcome: "unknown" });
  expect(classifyFailure(new BlockedAddressError("10.0.0.1"), "h.example", false)).toMatchObject({ permanent: true });
});
