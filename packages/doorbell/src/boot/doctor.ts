// The doctor: all checks, in one list. It looks as the process's own login, through whatever stands before Postgres, and
// changes nothing. A check that cannot be made is a finding: not knowing is not the same as being well.
import type { Settings } from "../config/settings.ts";
import { describeFailure } from "../core/failure.ts";
import { Database, isDatabaseTrouble } from "../store/database.ts";
import { ping } from "../store/inspect.ts";
import { checkCanary, checkCheckout } from "./check-clamp.ts";
import { checkGrants, checkMemberships } from "./check-grants.ts";
import { checkLogin, checkRights } from "./check-login.ts";
import { checkOurRows, checkTables, checkVersion } from "./check-schema.ts";
import { checkSettings } from "./check-settings.ts";
import { checkObjects, checkQueue } from "./check-stores.ts";
import { checkUserTable, type UserTables } from "./check-user-tables.ts";
import type { Finding, FindingCode } from "./finding.ts";

export interface Patient {
  readonly settings: Settings;
  /** In development it may be another than the settings': that of the server that comes with it. Null: there is none. */
  readonly databaseUrl: string | null;
  /** To tell misspelt settings from those that are none of ours. */
  readonly variables: NodeJS.ProcessEnv;
  /** The application's own tables. Absent: only ours are looked at. */
  readonly userTables?: UserTables;
}

/** Every finding, refusing ones and warnings, in an order that does not change. Never throws. */
export async function examine(patient: Patient): Promise<readonly Finding[]> {
  const { settings, databaseUrl, variables } = patient;
  return [
    ...checkSettings(settings, variables, databaseUrl),
    ...(await attempt("queue", () => checkQueue(settings))),
    ...(await attempt("objects", () => checkObjects(settings))),
    ...(databaseUrl === null ? [] : await examineDatabase(databaseUrl, patient)),
  ];
}

const ourSetting = "doorbell.tenant_id";

/** With these a login sees every row, policies or none. */
const unbinding: ReadonlySet<FindingCode> = new Set(["login_superuser", "login_bypasses_rls"]);

async function examineDatabase(url: string, { settings, userTables }: Patient): Promise<readonly Finding[]> {
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
    const bound = !login.some(({ code }) => unbinding.has(code));
    const tables = await attempt("tables", () => checkTables(database));
    return [
      ...login,
      ...version,
      ...(await ifOurs("rights", () => checkRights(database, settings.role))),
      ...(await ifOurs("grants", () => checkGrants(database))),
      ...(await attempt("memberships", () => checkMemberships(database))),
      ...tables,
      ...(await attempt("clamp at checkout", () => checkCheckout(database, ourSetting))),
      ...(await ifOurs("canary", () => checkCanary(database))),
      ...(bound ? await ifOurs("rows", () => checkOurRows(database, tables)) : []),
      ...(await examineUserTables(database, userTables, bound)),
    ];
  } finally {
    await database.close();
  }
}

async function examineUserTables(
  database: Database,
  tables: UserTables | undefined,
  bound: boolean,
): Promise<readonly Finding[]> {
  if (tables === undefined) return [];
  const { tenantSetting: setting } = tables;
  const findings: Finding[] = [];
  if (setting !== null && setting !== ourSetting)
    findings.push(...(await attempt(`${setting} at checkout`, () => checkCheckout(database, setting))));
  for (const name of tables.names) {
    const found = await attempt(`table ${name}`, () => checkUserTable(database, name, tables, bound));
    // A view or a function may stand before several tables.
    const known = ({ code, subject }: Finding) => findings.some((one) => one.code === code && one.subject === subject);
    findings.push(...found.filter((finding) => !known(finding)));
  }
  return findings;
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
