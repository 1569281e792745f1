// A setting's default in words, for the page of settings and for `doorbell start --help`.
import type { Setting } from "./table.ts";

/** By environment or by role where it differs. Null: there is none. */
export function defaultText({ default: choice }: Setting<unknown>, quoted: (text: string) => string): string | null {
  if (choice === null) return null;
  if (typeof choice === "string") return quoted(choice);
  return Object.entries(choice)
    .map(([when, text]) => `${quoted(text)} (${when})`)
    .join(", ");
}
