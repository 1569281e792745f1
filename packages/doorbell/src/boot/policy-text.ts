// The tenant's setting in the text of a policy, as Postgres writes it back: how it should be read, how it should not, and
// the one turned into the other. A setting's name is letters, digits, underscores and dots.

/** Null on a new connection, and empty after a transaction that was clamped: neither is a tenant. */
export const settingAsText = (setting: string): string => `current_setting('${setting}', true)`;
export const settingAsUuid = (setting: string): string => `nullif(${settingAsText(setting)}, '')::uuid`;

/** Whether it asks for the tenant at all: by the setting, or by our function, which reads it and verifies it. */
export function mentions(text: string, setting: string): boolean {
  return text.toLowerCase().includes(`'${setting.toLowerCase()}'`) || isProven(text);
}

/** The tenant in force, with its token where tenancy is signed. Null without one; it never fails. */
export const provenTenant = "doorbell.tenant()";

export function isProven(text: string): boolean {
  return text.includes(provenTenant);
}

/** It fails where the setting is the empty string. */
export function castsAsItIs(text: string, setting: string): boolean {
  return bareCast(setting).test(text) || bareCastOfSubselect(setting).test(text);
}

/** It fails where the setting has never been set. */
export function requires(text: string, setting: string): boolean {
  return strictRead(setting).test(text);
}

/** The same condition, so that it fails nowhere; without the parentheses that Postgres puts around any with an operator. */
export function repaired(condition: string, setting: string): string {
  const text = condition
    .replace(bareCast(setting), settingAsUuid(setting))
    .replace(bareCastOfSubselect(setting), `(select ${settingAsUuid(setting)})`)
    .replace(strictRead(setting), settingAsText(setting));
  return /^\(.*\)$/s.test(text) ? text.slice(1, -1) : text;
}

const quoted = (setting: string): string => `'${setting.replaceAll(".", "\\.")}'::text`;
const anyRead = (setting: string): string => `current_setting\\(${quoted(setting)}(?:, true)?\\)`;

const strictRead = (setting: string): RegExp => new RegExp(`current_setting\\(${quoted(setting)}\\)`, "gi");
const bareCast = (setting: string): RegExp => new RegExp(`\\(${anyRead(setting)}\\)::uuid`, "gi");
const bareCastOfSubselect = (setting: string): RegExp =>
  new RegExp(`\\(\\( ?SELECT ${anyRead(setting)} AS current_setting\\)\\)::uuid`, "gi");
