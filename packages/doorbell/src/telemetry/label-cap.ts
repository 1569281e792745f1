/**
 * Label values come from users (kinds, stages, reasons), and each new one is a time series for ever.
 * Owns the bound: the first values of a label are kept apart, all later ones are counted together as "other".
 */

import { cutToBytes, replaceUnstorable } from "../core/text.ts";

export const OTHER_LABEL = "other";

const VALUE_MAX_BYTES = 100;

/** Gives each of the first `max` distinct combinations of values back as it is, and "other" for every value after that. */
export function labelCap(max: number): (...values: string[]) => string[] {
  const known = new Set<string>();
  return (...values) => {
    const bounded = values.map((value) => cutToBytes(replaceUnstorable(value), VALUE_MAX_BYTES, "…"));
    const id = JSON.stringify(bounded);
    if (known.has(id)) return bounded;
    if (known.size >= max) return bounded.map(() => OTHER_LABEL);
    known.add(id);
    return bounded;
  };
}
