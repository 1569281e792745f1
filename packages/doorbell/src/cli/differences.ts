// Where two JSON values differ, field by field.

export interface Difference {
  /** Such as `lines[2].amount`; `(result)` for the whole. */
  readonly path: string;
  /** Undefined: it was not there. */
  readonly stored: unknown;
  readonly now: unknown;
}

/** More of them than anybody reads: the rest is left out. */
const differencesMax = 100;

/** In the order of the stored value, then of what is new. At most 100. */
export function differences(stored: unknown, now: unknown): readonly Difference[] {
  const found: Difference[] = [];
  compare("", stored, now, found);
  return found;
}

function compare(path: string, stored: unknown, now: unknown, found: Difference[]): void {
  if (found.length >= differencesMax || stored === now) return;
  if (Array.isArray(stored) && Array.isArray(now)) {
    for (let index = 0; index < Math.max(stored.length, now.length); index += 1) {
      compare(`${path}[${index}]`, stored[index], now[index], found);
    }
  } else if (isObject(stored) && isObject(now)) {
    for (const name of new Set([...Object.keys(stored), ...Object.keys(now)])) {
      compare(path === "" ? name : `${path}.${name}`, stored[name], now[name], found);
    }
  } else {
    found.push({ path: path === "" ? "(result)" : path, stored, now });
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
