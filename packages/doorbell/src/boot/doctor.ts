// The doctor: all checks, in one list. It looks as the process's own login, through whatever stands before Postgres, and
// changes nothing. A check that cannot be made is a finding: not knowing is not the same as being well.
import type { Settings } from "../config/settings.ts";
import { describeFailure } from "../core/failure.ts";
import { Database, isDatabaseTrouble } from "../store/database.ts";
import { ping } from "../store/inspect.ts";
import { checkCanary, checkCheckout } from "./check-clamp.ts";
import { checkLogin, checkRights } from "./check-login.ts";
import { checkTables, checkVersion } from "./check-schema.ts";
import { checkSettings } from "./check-settings.ts";
import { checkObjects, checkQueue } from "./check-stores.ts";
import type { Finding } from "./finding.ts";

export interface Patient {
  readonly settings: Settings;
  /** In development it may be another than the settings': that of the server that comes with it. Null: there is none. */
  readonly databaseUrl: string | null;
  /** To tell misspelt settings from those that are none of ours. */
  readonly variables: NodeJS.ProcessEnv;
}

/** Every finding, refusing ones and warnings, in an order that does not change. Never throws. */
export async function examine({ settings, databaseUrl, variables }: Patient): Promise<readonly Finding[]> {
  return [
    ...checkSettings(settings, variables, databaseUrl),
    ...(await attempt("queue", () => checkQueue(settings))),
    ...(await attempt("objects", () => checkObjects(settings))),
    ...(databaseUrl === null ? [] : await examineDatabase(databaseUrl, settings)),
  ];
}

async function examineDatabase(url: string, settings: Settings): Promise<readonly Finding[]> {
  const database = new Database({ url, max: 2, name: "doorbell doctor", answerWithinMs: 15_000 });
  try {
    await ping(database);
  } catch (error) {
    await database.close();
    return [unreachable(error)];
  }
  try {
    const login = await attempt("login", () => checkLogin(database));
    const version = await attempt("schema version", () => checkVersion(database));
    // On functions of another version these would find nothing but that, in other words.
    const ifOurs = async (check: string, run: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> =>
      version.length > 0 ? [] : await attempt(check, run);
    return [
      ...login,
      ...version,
      ...(await ifOurs("rights", () => checkRights(database, settings.role))),
      ...(await attempt("tables", () => checkTables(database))),
      ...(await attempt("clamp at checkout", () => checkCheckout(database))),
      ...(await ifOurs("canary", () => checkCanary(database))),
    ];
  } finally {
    await database.close();
  }
}

async function attempt(check: string, run: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  try {
    return await run();
  } catch (error) {
    if (isDatabaseTrouble(error)) return [unreachable(error)];
    return [
      {
        code: "check_failed",
        severity: "refuse",
        subject: check,
        message: `the check "${check}" could not be made: ${describeFailure(error).message}`,
        mend: "doorbell doctor makes it again",
      },
    ];
  }
}

function unreachable(error: unknown): Finding {
  return {
    code: "database_unreachable",
    severity: "refuse",
    subject: "DATABASE_URL",
    message: `the database cannot be used: ${describeFailure(error).message}`,
    mend: "start Postgres, or set DATABASE_URL to where it is, with a login that it knows",
  };
}
