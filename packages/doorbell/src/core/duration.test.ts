import fc from "fast-check";
import { expect, test } from "vitest";
import { durationMaxMs, toMs } from "./duration.ts";

test.each([
  [0, 0],
  [250, 250],
  ["250ms", 250],
  ["2s", 2_000],
  ["1.5h", 5_400_000],
  ["5m", 300_000],
  ["7d", 604_800_000],
  ["0s", 0],
])("%s is %d ms", (duration, ms) => {
  expect(toMs(duration, "timeout")).toBe(ms);
});

test.each(["", " 2s", "2 s", "2S", "-1s", "1e3s", "5", "s", "99999d", "1w", "0x10s", "NaNms", "٢s"])(
  "the text %j is refused with the option's name",
  (text) => {
    expect(() => toMs(text, "lease")).toThrow(
      expect.objectContaining({ code: "option_invalid", message: expect.stringContaining("lease") }),
    );
  },
);

test("whatever is given, the answer is whole milliseconds within the bounds, or option_invalid", () => {
  const anything = fc.oneof(fc.anything(), fc.double(), fc.string(), fc.stringMatching(/^\d{1,20}(ms|s|m|h|d)$/));
  fc.assert(
    fc.property(anything, (value) => {
      let ms: number;
      try {
        ms = toMs(value as string, "delay");
      } catch (error) {
        expect(error).toMatchObject({ code: "option_invalid" });
        return;
      }
      expect(Number.isInteger(ms)).toBe(true);
      expect(ms).toBeGreaterThanOrEqual(0);
      expect(ms).toBeLessThanOrEqual(durationMaxMs);
    }),
  );
});
