// The parts that every row needs and none measures: a contender's schema, and what a reader is told about it.

import type { Contender } from "../contender.ts";
import type { Part } from "../row.ts";

export type Description = Pick<Contender, "version" | "settings">;

/** Makes the contender's schema in its fresh database. */
export const schemaPart: Part<null, null> = {
  name: "schema.install",
  run: async ({ contender, databaseUrl }) => {
    await contender.install(databaseUrl);
    return null;
  },
};

export const describePart: Part<null, Description> = {
  name: "schema.describe",
  run: async ({ contender }) => ({ version: contender.version, settings: contender.settings }),
};
