import { inspect } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { describeFailure, type Failure, failureText, fingerprint } from "./failure.ts";
import { PermanentError } from "./outcome.ts";
import { unstorablePart, utf8Bytes } from "./text.ts";

const alwaysThrowing = new Proxy(
  {},
  new Proxy(
    {},
    {
      get: () => () => {
        throw new Error("trapped");
      },
    },
  ),
);

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function causeLoop(): Error {
  const first = new Error("first");
  const second = new Error("second", { cause: first });
  first.cause = second;
  return first;
}

class GettersThrow extends Error {
  override get message(): string {
    throw new Error("message");
  }
  override get name(): string {
    throw new Error("name");
  }
  override get stack(): string {
    throw new Error("stack");
  }
}

class OwnCause extends Error {
  override get cause(): unknown {
    return this;
  }
}

// Functions, because a test runner that prints its parameters would fall over them.
const hostile: Record<string, () => unknown> = {
  undefined: () => undefined,
  null: () => null,
  "a number": () => 42,
  NaN: () => Number.NaN,
  "a string": () => "boom",
  "an empty string": () => "",
  "a bigint": () => 10n,
  "a symbol": () => Symbol("x"),
  "a boolean": () => false,
  "a function": () => () => 1,
  "an empty object": () => ({}),
  "an object without a prototype": () => Object.create(null),
  "an array": () => [1, 2],
  "a proxy that throws on every trap": () => alwaysThrowing,
  "a revoked proxy": revoked,
  "an error whose getters throw": () => Object.create(GettersThrow.prototype),
  "an error with a message of 50 MB": () => new Error("x".repeat(50_000_000)),
  "a string of 50 MB": () => "é".repeat(25_000_000),
  "an error with a stack of 5 MB of multi-byte text": () =>
    Object.assign(new Error("x"), { stack: "日本語".repeat(600_000) }),
  "an error with a message that is no string": () => Object.assign(new Error("x"), { message: { a: 1 } }),
  "an error with a loop of causes": causeLoop,
  "an error that is its own cause": () => new OwnCause("me"),
  "an error full of NUL and half surrogates": () => new Error("\0\u{d800}".repeat(100)),
  "an error with an enormous name and code": () =>
    Object.assign(new Error("x"), { name: "n".repeat(100_000), code: "c".repeat(100_000) }),
  "an aggregate without a message": () => new AggregateError([new Error("connect ECONNREFUSED 127.0.0.1:5432")]),
};

test.each(Object.keys(hostile))("%s is described, bounded and storable", (name) => {
  expectDescribed(describeFailure(hostile[name]?.()));
});

test("whatever is thrown is described, bounded and storable", () => {
  fc.assert(fc.property(fc.anything(), (thrown) => expectDescribed(describeFailure(thrown))));
});

test("the reason names the type of what has no message", () => {
  expect(describeFailure(undefined).message).toBe("undefined was thrown");
  expect(describeFailure(null).message).toBe("null was thrown");
  expect(describeFailure(42)).toEqual({ name: "number", message: "number 42 was thrown" });
  expect(describeFailure(Symbol("x")).message).toBe("symbol Symbol(x) was thrown");
  expect(describeFailure({}).message).toBe("Object was thrown without a message");
  expect(describeFailure(Object.create(null)).message).toBe("object was thrown without a message");
});

test("an error keeps its name, code, message and frames", () => {
  const failure = describeFailure(new PermanentError("document_encrypted", "the document is encrypted"));
  expect(failure).toMatchObject({
    name: "PermanentError",
    code: "document_encrypted",
    message: "the document is encrypted",
  });
  expect(failure.stack).toMatch(/^ {4}at .*failure\.test\.ts/);
  expect(failureText(failure)).toMatch(/^PermanentError \[document_encrypted\]: the document is encrypted\n {4}at /);
});

test("causes are told, in order, once each", () => {
  const refused = Object.assign(new Error("connect ECONNREFUSED"), { name: "SocketError" });
  const error = new TypeError("fetch failed", { cause: new Error("no answer", { cause: refused }) });
  expect(describeFailure(error).message).toBe(
    "fetch failed; caused by Error: no answer; caused by SocketError: connect ECONNREFUSED",
  );
  expect(describeFailure(causeLoop()).message).toBe("first; caused by Error: second");
  expect(describeFailure(new Error("x", { cause: "plain text" })).message).toBe("x; caused by plain text");
  expect(describeFailure(new AggregateError([new Error("refused")])).message).toContain("caused by Error: refused");
});

test("a cut message ends in a marker on a character boundary", () => {
  const { message } = describeFailure(new Error("é".repeat(5_000)));
  expect(message.endsWith("é …[cut]")).toBe(true);
  expect(utf8Bytes(message)).toBeGreaterThan(4_000);
});

test("secrets leave the message, the causes, the stack and the code", () => {
  const canary = "kA9x7Qz";
  const error = Object.assign(
    new Error(`POST https://user:${canary}@h.example/?token=${canary} failed`, {
      cause: new Error(`Authorization: Bearer ${canary}`),
    }),
    { code: `password=${canary}`, config: { headers: { Authorization: `Bearer ${canary}` } } },
  );
  expect(inspect(describeFailure(error))).not.toContain(canary);
});

test("a secret on the edge of a cut is not shown in half", () => {
  const url = "https://user:hunter2@h.example/";
  // The first cut is at 8,192 units; the long token before it shrinks to a few, so that its edge would be seen.
  const shrinking = `token=${"t".repeat(6_000)} `;
  for (let padding = 0; padding < 300; padding += 1) {
    for (const text of ["x ".repeat(1_950) + " ".repeat(padding), shrinking + "x ".repeat(960) + " ".repeat(padding)]) {
      expect(describeFailure(new Error(text + url)).message).not.toMatch(/hunter|user:/);
    }
  }
});

test("a fingerprint does not change with ids, numbers, hex and quoted values", () => {
  const shape = (message: string) => fingerprint("invoice.extract", { name: "Error", message });
  const pairs: [string, string][] = [
    ["job 0198c1de-1111-7000-8000-00000000abcd failed", "job ffffffff-2222-7abc-9def-00000000dcba failed"],
    ["timeout after 300 ms", "timeout after 1,250.5 ms"],
    ["object deadbeefcafe is gone", "object 0011aabb is gone"],
    ['no column "a" here', 'no column "total_net" here'],
    ["can't read 'x' of it", "can't read 'another thing' of it"],
    ["at 2026-01-01T00:00:00Z", "at 2027-12-31T23:59:59.123Z"],
    ["balance -5", "balance 12"],
    ["inv_1a2b missing", "inv_99 missing"],
  ];
  for (const [one, other] of pairs) expect(shape(one), one).toBe(shape(other));
  expect(shape("x")).toMatch(/^[0-9a-f]{16}$/);
});

test("a fingerprint differs by kind, name, code and wording", () => {
  const failure: Failure = { name: "Error", message: "timeout after 5 s" };
  const prints = [
    fingerprint("a", failure),
    fingerprint("b", failure),
    fingerprint("a", { ...failure, name: "TypeError" }),
    fingerprint("a", { ...failure, code: "E1" }),
    fingerprint("a", { ...failure, message: "refused after 5 s" }),
  ];
  expect(new Set(prints).size).toBe(prints.length);
});

test("a fingerprint of any text is made in no time", () => {
  for (const piece of ["'", '"', "a_", "1.", "#-", "0a", "deadbeef"]) {
    const startedAt = performance.now();
    fingerprint("kind", { name: "Error", message: piece.repeat(4_096 / piece.length) });
    expect(performance.now() - startedAt).toBeLessThan(200);
  }
});

function expectDescribed(failure: Failure): void {
  expect(failure.name).not.toBe("");
  expect(failure.message.trim()).not.toBe("");
  expect(utf8Bytes(failure.message)).toBeLessThanOrEqual(4_096);
  const text = failureText(failure);
  expect(utf8Bytes(text)).toBeLessThanOrEqual(16_384);
  expect(unstorablePart(text)).toBeNull();
  expect(fingerprint("kind", failure)).toMatch(/^[0-9a-f]{16}$/);
}

test("a cause that the message quotes already is not told twice, and the cause beneath it still is", () => {
  const cause = new Error("connect ECONNREFUSED", { cause: new Error("no route") });
  const { message } = describeFailure(new Error("postgres does not answer: connect ECONNREFUSED", { cause }));
  expect(message).toBe("postgres does not answer: connect ECONNREFUSED; caused by Error: no route");
});
