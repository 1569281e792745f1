import { expect, test } from "vitest";
import { DoorbellError } from "./errors.ts";
import { cancel, isCancel, isSnooze, PermanentError, RetryAfterError, snooze } from "./outcome.ts";

test("a snooze carries its delay in milliseconds", () => {
  const outcome = snooze("10m");
  expect(outcome).toEqual({ outcome: "snooze", delayMs: 600_000 });
  expect(isSnooze(outcome)).toBe(true);
  expect(isCancel(outcome)).toBe(false);
});

test("a snooze by something that is no duration is refused", () => {
  expect(() => snooze("soon")).toThrow(expect.objectContaining({ code: "option_invalid" }));
});

test("a cancel carries a reason that can be stored", () => {
  expect(isCancel(cancel("duplicate"))).toBe(true);
  expect(cancel("a\0b").reason).toBe("a\u{fffd}b");
  expect(cancel("").reason).toBe("no reason given");
  expect(Buffer.byteLength(cancel("é".repeat(10_000)).reason)).toBeLessThanOrEqual(2_000);
});

test("a result that merely looks like an outcome is a result", () => {
  expect(isSnooze({ outcome: "snooze", delayMs: 1 })).toBe(false);
  expect(isCancel(JSON.parse(JSON.stringify(cancel("x"))))).toBe(false);
});

test("the two errors are recognised by brand, and never for each other", () => {
  const permanent = new PermanentError("document_encrypted", "the document is encrypted", { cause: 1 });
  const later = new RetryAfterError("2s", "the receiver is busy");
  expect(permanent).toMatchObject({ name: "PermanentError", code: "document_encrypted", cause: 1 });
  expect(later).toMatchObject({ name: "RetryAfterError", delayMs: 2_000 });
  expect(PermanentError.isInstance(permanent)).toBe(true);
  expect(PermanentError.isInstance(later)).toBe(false);
  expect(RetryAfterError.isInstance(later)).toBe(true);
  expect(RetryAfterError.isInstance(permanent)).toBe(false);
  expect(DoorbellError.isInstance(permanent)).toBe(false);
});
