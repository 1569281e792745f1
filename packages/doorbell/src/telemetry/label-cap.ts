// Label values come from users (kinds, stages, reasons), and each new one is a time series for ever.
// Owns the bound: the first values of a label are kept apart, all later ones are counted together as "other".
import { cutToBytes, replaceUnstorable } from "../core/text.ts";

export const otherLabel = "other";

const valueMaxBytes = 100;

/** Gives each of the first `max` distinct combinations of values back as it is, and "other" for every value after that. */
export function labelCap(max: number): (...values: string[]) => readonly string[] {
  const known = new Map<string, readonly string[]>();
  return (...values) => {
    const id = values.length === 1 ? (values[0] ?? "") : values.join("\u0000");
    const found = known.get(id);
    if (found !== undefined) return found;
    const bounded = values.map((value) => cutToBytes(replaceUnstorable(value), valueMaxBytes, "…"));
    if (known.size >= max) return bounded.map(() => otherLabel);
    known.set(id, bounded);
    return bounded;
  };
}
