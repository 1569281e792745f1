import { expect, test } from "vitest";
import { DoorbellError, errorTable } from "./errors.ts";

test("an error carries its code, its cause and what the table says about the code", () => {
  const cause = new Error("socket hang up");
  const error = new DoorbellError("database_unavailable", "job 1 could not be claimed", { cause });
  expect(error).toBeInstanceOf(Error);
  expect(error.name).toBe("DoorbellError");
  expect(error.cause).toBe(cause);
  expect(error.traits).toEqual({ retryable: true, httpStatus: 503, exitCode: 1 });
});

test("an error of another copy of the package is recognised by its brand", () => {
  const foreign = Object.assign(new Error("from elsewhere"), {
    [Symbol.for("doorbell.error")]: true,
    code: "lease_lost",
  });
  expect(DoorbellError.isInstance(foreign)).toBe(true);
  expect(DoorbellError.isInstance(foreign, "lease_lost")).toBe(true);
  expect(DoorbellError.isInstance(foreign, "closed")).toBe(false);
});

test("what is no operating error is told apart without throwing", () => {
  const hostile = new Proxy(
    {},
    {
      get() {
        throw new Error("no");
      },
    },
  );
  for (const value of [undefined, null, 1, "x", {}, new Error("x"), hostile]) {
    expect(DoorbellError.isInstance(value)).toBe(false);
  }
});

test("the table only holds exit codes of the contract and HTTP error statuses", () => {
  for (const [code, traits] of Object.entries(errorTable)) {
    expect([1, 2, 78], code).toContain(traits.exitCode);
    expect(traits.httpStatus, code).toBeGreaterThanOrEqual(400);
    expect(traits.httpStatus, code).toBeLessThan(600);
  }
});
