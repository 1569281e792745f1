// The settings of a process, resolved once, all of them required from then on. Owns the order (option, variable, default)
// and the question what counts as production. Reads nothing but what it is given.
import type { Role } from "../app.ts";
import { DoorbellError } from "../core/errors.ts";
import { databaseHost } from "../store/database.ts";
import type { RoleNames } from "../store/role-names.ts";
import type { TenancyOptions } from "../store/tenancy.ts";
import type { LogLevel } from "../telemetry/log.ts";
import { type Setting, settingsTable } from "./table.ts";

export type Environment = "production" | "development";

/** See docs/settings.md, which says the same as table.ts. */
export interface Settings {
  readonly environment: Environment;
  readonly role: Role;
  readonly app: string | null;
  /** Null: the application's own word counts. */
  readonly appVersion: string | null;
  readonly databaseUrl: string | null;
  readonly directDatabaseUrl: string | null;
  readonly databaseAllowPlaintext: boolean;
  /** As `pgbouncer-1.25.2`. Null: nothing is said of it. */
  readonly pooler: string | null;
  readonly queueUrl: string;
  readonly objectsUrl: string;
  readonly port: number;
  readonly host: string;
  readonly closeAfterMs: number;
  readonly concurrency: number;
  /** Null: those of the handlers' kinds. */
  readonly lanes: readonly string[] | null;
  readonly leaseMs: number;
  readonly graceMs: number;
  readonly pollMs: number;
  readonly sweepEveryMs: number;
  readonly connectionsMax: number;
  readonly logLevel: LogLevel | "silent";
  readonly roleNames: RoleNames;
  readonly tenancy: "plain" | "signed";
  /** Null: none. The first signs. */
  readonly tenancySecrets: readonly string[] | null;
  readonly tenancyTokenMs: number;
  /** Null: nothing is pushed. */
  readonly pushSecret: string | null;
  readonly smtpUrl: string | null;
  readonly webhookAllowPrivate: boolean;
  /** Null: none. The first seals, each opens. */
  readonly secretKeys: readonly string[] | null;
}

export type SettingName = keyof Settings;

/** The names in the order of the table. */
export const settingNames: readonly SettingName[] = Object.keys(settingsTable) as SettingName[];

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Options of the command line win over variables, variables over defaults; an empty variable is none. Throws
 * option_invalid, one line that names every variable or option with a bad value.
 */
export function resolveSettings(
  variables: Variables,
  options: Readonly<Partial<Record<SettingName, string>>> = {},
): Settings {
  const problems: string[] = [];
  const resolved = {} as Record<SettingName, unknown>;
  const facts = { role: "all" as Role, environment: "production" as Environment };

  const resolve = <Name extends SettingName>(name: Name): Settings[Name] | null => {
    const setting: Setting<Settings[Name]> = settingsTable[name];
    const option = options[name];
    const text = option ?? (variables[setting.env] || defaultOf(setting, facts));
    try {
      resolved[name] =
        text === null ? null : setting.parse(text, option === undefined ? setting.env : `${setting.flag}`);
    } catch (error) {
      if (!DoorbellError.isInstance(error)) throw error;
      problems.push(error.message);
      resolved[name] = null;
    }
    return resolved[name] as Settings[Name] | null;
  };

  // Defaults depend on these.
  facts.role = resolve("role") ?? facts.role;
  facts.environment = assumedEnvironment(variables, [resolve("databaseUrl"), resolve("directDatabaseUrl")]);
  facts.environment = resolve("environment") ?? facts.environment;
  for (const name of settingNames) if (!(name in resolved)) resolve(name);

  if (problems.length > 0) throw new DoorbellError("option_invalid", problems.join("; "));
  return Object.freeze(resolved) as unknown as Settings;
}

/** Variables that look like settings and are none: a misspelt one has no effect, and should not have none silently. */
export function unknownVariables(variables: Variables): readonly string[] {
  const known = new Set(settingNames.map((name) => settingsTable[name].env));
  return Object.keys(variables).filter((name) => name.startsWith("DOORBELL_") && !known.has(name));
}

function defaultOf(
  setting: Setting<unknown>,
  facts: { readonly role: Role; readonly environment: Environment },
): string | null {
  const { default: choice } = setting;
  if (choice === null || typeof choice === "string") return choice;
  return "production" in choice ? choice[facts.environment] : choice[facts.role];
}

/** What an unset DOORBELL_ENV means. */
function assumedEnvironment(variables: Variables, urls: readonly (string | null)[]): Environment {
  const declared = variables["NODE_ENV"];
  if (declared) return declared === "development" || declared === "test" ? "development" : "production";
  return urls.every((url) => url === null || isLoopback(databaseHost(url))) ? "development" : "production";
}

/** `host`: as a URL has it, or the directory of a socket. */
export function isLoopback(host: string | null): boolean {
  if (host === null) return false;
  return host.startsWith("/") || host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/** As the client takes them. */
export function tenancyOptions({ tenancy, tenancySecrets, tenancyTokenMs }: Settings): TenancyOptions {
  return { tenancy, tenancySecrets: tenancySecrets ?? [], tenancyTokenMs };
}
