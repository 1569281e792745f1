// Ids of jobs, effects and workers: uuid version 7, made here because PostgreSQL before 18 has none.
// Within a process they are strictly increasing, also when the clock steps back, so that rows of one batch keep their
// order. Across processes they are ordered by time to the millisecond, and nothing may depend on more.
import { randomUUID } from "node:crypto";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const counterEnd = 0x1000;

/** Makes an id source over a clock of milliseconds since 1970. `newId` is the one for everyday use. */
export function createIdSource(nowMs: () => number): () => string {
  let lastMs = 0;
  let counter = 0;
  return () => {
    const now = Math.floor(nowMs());
    if (now > lastMs) {
      lastMs = now;
      counter = 0;
    } else if (counter + 1 < counterEnd) {
      counter += 1;
    } else {
      // More than 4,096 ids in this millisecond, or a clock that stepped back: borrow from the next one.
      lastMs += 1;
      counter = 0;
    }
    const time = lastMs.toString(16).padStart(12, "0");
    // The last two groups of a version 4 uuid are the variant and 62 random bits: just what version 7 wants there.
    return `${time.slice(0, 8)}-${time.slice(8)}-7${counter.toString(16).padStart(3, "0")}${randomUUID().slice(18)}`;
  };
}

/** A new id, larger as text than every id this process has made before. */
export const newId: () => string = createIdSource(() => Date.now());

/** Tells whether the value is a uuid in its usual spelling, of any version. */
export function isUuid(value: unknown): value is string {
  return typeof value === "string" && uuid.test(value);
}
