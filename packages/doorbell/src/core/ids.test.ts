import { expect, test } from "vitest";
import { createIdSource, isUuid, newId } from "./ids.ts";

test("an id is a uuid of version 7 with the variant of RFC 9562 and the time in front", () => {
  const id = createIdSource(() => 0x0123_4567_89ab)();
  expect(id).toMatch(/^01234567-89ab-7000-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(isUuid(id)).toBe(true);
});

test("a hundred thousand ids are strictly increasing and distinct", () => {
  let last = newId();
  for (let count = 0; count < 100_000; count += 1) {
    const id = newId();
    if (id <= last) throw new Error(`${id} came after ${last}`);
    last = id;
  }
});

test("ids keep increasing while the clock stands still, steps back, and catches up", () => {
  const times = [...Array<number>(10_000).fill(1_000), 400, 399, 1_001, 1_002, 1_003, 5_000];
  const next = createIdSource(() => times.shift() ?? 5_000);
  let last = "";
  for (let count = 0; count < 10_006; count += 1) {
    const id = next();
    expect(id > last).toBe(true);
    expect(isUuid(id)).toBe(true);
    last = id;
  }
});

test("two sources at the same instant do not make the same id", () => {
  const first = createIdSource(() => 1);
  const second = createIdSource(() => 1);
  expect(first()).not.toBe(second());
});

test.each([undefined, null, 7, "", "x", "0123456789ab7000800000000000000", "{01234567-89ab-7000-8000-000000000000}"])(
  "%j is no uuid",
  (value) => {
    expect(isUuid(value)).toBe(false);
  },
);
