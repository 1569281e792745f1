// Durations as people write them, and the one place where they become milliseconds.
// Owns the grammar and the bounds. Never lets through what a timer, a lease or a timestamp could not take.
import { DoorbellError } from "./errors.ts";

/** A number of milliseconds, or text such as "250ms", "2s", "1.5h", "7d". */
export type Duration = number | string;

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const durationText = /^(\d{1,15}(?:\.\d{1,9})?)(ms|s|m|h|d)$/;

/** Ten years: beyond it stands a mistake in the unit, not a wish. */
export const durationMaxMs: number = 3_652 * unitMs.d;

/** Whole milliseconds in [0, ten years]. Throws option_invalid, with the option's name, for everything else. */
export function toMs(duration: Duration, name: string): number {
  const ms = typeof duration === "string" ? parse(duration) : duration;
  if (typeof ms !== "number" || !Number.isFinite(ms) || ms < 0 || ms > durationMaxMs) {
    throw new DoorbellError(
      "option_invalid",
      `${name} is not a duration: ${shown(duration)} (milliseconds, or text such as "250ms", "2s", "5m", "1h", "7d"; at most 10 years)`,
    );
  }
  return Math.round(ms);
}

function parse(text: string): number {
  const match = durationText.exec(text);
  if (match === null) return Number.NaN;
  return Number(match[1]) * unitMs[match[2] as keyof typeof unitMs];
}

function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 40));
  return typeof value === "number" ? String(value) : `a ${typeof value}`;
}
