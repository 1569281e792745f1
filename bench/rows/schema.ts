// The part that every row needs and none measures: installs a contender's schema, and says what a reader is told about it.

import type { Contender } from "../contender.ts";
import type { Part } from "../row.ts";

export type Description = Pick<Contender, "version" | "settings">;

export const schemaPart: Part<null, Description> = {
  name: "schema.install",
  run: async ({ contender, databaseUrl }) => {
    await contender.install(databaseUrl);
    return { version: contender.version, settings: contender.settings };
  },
};
