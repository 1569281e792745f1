// How the text of a variable or an option becomes a value. Each parser throws option_invalid with the name of what was
// set wrongly, and shows the text only where it cannot be a secret.
import { laneForm } from "../core/definition.ts";
import { type Duration, toMs } from "../core/duration.ts";
import { DoorbellError } from "../core/errors.ts";
import { queueSchemes } from "../queue/open.ts";
import { databaseHost } from "../store/database.ts";
import { ourRoleNames, type RoleKey, type RoleNames, roleKeys, roleNameForm } from "../store/role-names.ts";
import { tenancySecretMinLength } from "../store/tenancy.ts";

/** Text as it was given, never empty, and the name under which it was. */
export type Parse<Value> = (text: string, name: string) => Value;

const refuse = (name: string, reason: string): never => {
  throw new DoorbellError("option_invalid", `${name} ${reason}`);
};

const shown = (text: string): string => JSON.stringify(text.slice(0, 60));

export const asText: Parse<string> = (text) => text;

export function oneOf<const Choice extends string>(...choices: readonly Choice[]): Parse<Choice> {
  return (text, name) =>
    choices.find((choice) => choice === text) ?? refuse(name, `is ${shown(text)}; choose ${choices.join(", ")}`);
}

export function wholeNumber(min: number, max: number): Parse<number> {
  return (text, name) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max
      ? value
      : refuse(name, `is ${shown(text)}, not a whole number from ${min} to ${max}`);
  };
}

const anyPort = wholeNumber(0, 65_535);

export const asPort: Parse<number> = (text, name) =>
  text.startsWith("tcp://")
    ? refuse(name, `is ${shown(text)}: Kubernetes sets it for a service of this name; switch enableServiceLinks off`)
    : anyPort(text, name);

/** Milliseconds, of text with its unit. */
export function durationOf(min: Duration): Parse<number> {
  return (text, name) => {
    const ms = toMs(text, name);
    return ms >= toMs(min, name) ? ms : refuse(name, `is ${shown(text)}, which is shorter than ${min}`);
  };
}

const switchWord = oneOf("1", "0", "true", "false");

export const asSwitch: Parse<boolean> = (text, name) => {
  const word = switchWord(text, name);
  return word === "1" || word === "true";
};

export const asLanes: Parse<readonly string[]> = (text, name) => {
  const lanes = text.split(",").map((item) => item.trim());
  const none = lanes.find((lane) => !laneForm.test(lane));
  return none === undefined
    ? lanes
    : refuse(
        name,
        `names the lane ${shown(none)}; lanes are made of a-z, 0-9, - and _, and separated by single commas`,
      );
};

/** A name, and a version, which only PgBouncer must have. */
export const asPooler: Parse<string> = (text, name) =>
  /^(pgbouncer-\d+(\.\d+)*|(?!pgbouncer\b)[a-z]+(-\d+(\.\d+)*)?)$/.test(text)
    ? text
    : refuse(name, `is ${shown(text)}; write pgbouncer-1.25.2, or the name of another`);

export const asRoleNames: Parse<RoleNames> = (text, name) => {
  const names: Record<RoleKey, string> = { ...ourRoleNames };
  for (const item of text.split(",")) {
    const [key = "", value = ""] = item.split("=").map((part) => part.trim());
    const known = roleKeys.find((one) => one === key);
    if (known === undefined || !roleNameForm.test(value))
      return refuse(
        name,
        `has ${shown(item)}; an item is KEY=NAME, the key one of ${roleKeys.join(", ")}, the name of a-z, 0-9 and _`,
      );
    names[known] = value;
  }
  if (roleKeys.every((key) => names[key] === ourRoleNames[key])) return ourRoleNames;
  return new Set(Object.values(names)).size === roleKeys.length ? names : refuse(name, "gives two roles one name");
};

/** Never shown. */
export const asSecret: Parse<string> = (text, name) =>
  text.length >= tenancySecretMinLength
    ? text
    : refuse(name, `has fewer than ${tenancySecretMinLength} characters (openssl rand -hex 32 makes one)`);

/** Secrets, separated by commas. Never shown. */
export const asSecrets: Parse<readonly string[]> = (text, name) => {
  const secrets = text.split(",").map((item) => item.trim());
  return secrets.every((secret) => secret.length >= tenancySecretMinLength)
    ? secrets
    : refuse(name, `has a secret of fewer than ${tenancySecretMinLength} characters (openssl rand -hex 32 makes one)`);
};

/** A URL of one of these schemes. It may hold a password, so it is never shown. */
export function urlOf(...schemes: readonly string[]): Parse<string> {
  return (text, name) =>
    schemes.some((scheme) => text.startsWith(`${scheme}:`))
      ? text
      : refuse(name, `is not a URL that begins with ${schemes.map((scheme) => `${scheme}:`).join(" or ")}`);
}

const anyQueueUrl = urlOf(...queueSchemes);

/** The line is in the database that is connected to anyway, and memory is nowhere: neither URL says more than that. */
export const asQueueUrl: Parse<string> = (text, name) =>
  /^(postgres|memory):./.test(anyQueueUrl(text, name))
    ? refuse(name, "is postgres: or memory: with something behind it; the database itself is given in DATABASE_URL")
    : text;

const anyPostgresUrl = urlOf("postgres", "postgresql");

/** As the client of Postgres reads it: a mistake in it is told here, by name and without its text. */
export const asPostgresUrl: Parse<string> = (text, name) =>
  databaseHost(anyPostgresUrl(text, name)) === null
    ? refuse(name, "cannot be read as a connection URL (or a file that it names is not there)")
    : text;
