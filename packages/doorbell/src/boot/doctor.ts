// The doctor: all checks, in one list. It looks as the process's own login, through whatever stands before Postgres, and
// changes nothing. A check that cannot be made is a finding: not knowing is not the same as being well.
import type { Settings } from "../config/settings.ts";
import { describeFailure } from "../core/failure.ts";
import { Database, isDatabaseTrouble, type Tx } from "../store/database.ts";
import { ping, qualifyNames } from "../store/inspect.ts";
import { inspectServer, inspectSweepers } from "../store/inspect-server.ts";
import { isSigned } from "../store/inspect-tenancy.ts";
import { named } from "../store/role-names.ts";
import { checkCanary, checkCheckout } from "./check-clamp.ts";
import { checkFunctions, checkSearchPath, checkTemporary } from "./check-functions.ts";
import { checkGrants, checkMemberships } from "./check-grants.ts";
import { checkLogin, checkRights } from "./check-login.ts";
import { checkPooler } from "./check-pooler.ts";
import { checkOurRows, checkTables, checkVersion } from "./check-schema.ts";
import { checkClock, checkEncryption, checkServer, checkSweepers } from "./check-server.ts";
import { checkSettings } from "./check-settings.ts";
import { checkObjects, checkQueue } from "./check-stores.ts";
import { checkTenancy } from "./check-tenancy.ts";
import { checkUserTable, type UserTables } from "./check-user-tables.ts";
import { checkSecretKeys } from "./check-webhooks.ts";
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
    ...(databaseUrl === null ? [] : (await examineDatabase(databaseUrl, patient)).map(inWordsOf(settings))),
  ];
}

const ourSetting = "doorbell.tenant_id";

/** Says roles as they are called here. */
function inWordsOf({ roleNames }: Settings): (finding: Finding) => Finding {
  return (finding) => ({
    ...finding,
    subject: named(finding.subject, roleNames),
    message: named(finding.message, roleNames),
    mend: named(finding.mend, roleNames),
  });
}

/** With these a login sees every row, policies or none. */
const unbinding: ReadonlySet<FindingCode> = new Set(["login_superuser", "login_bypasses_rls"]);

/** Enough for the looks at our tables to go together; fewer would make a start slower, more would not make it faster. */
const connectionsMax = 4;

async function examineDatabase(url: string, { settings, userTables }: Patient): Promise<readonly Finding[]> {
  const database = new Database({
    url,
    max: connectionsMax,
    name: "doorbell doctor",
    answerWithinMs: 15_000,
    roleNames: settings.roleNames,
  });
  try {
    await ping(database);
    const route = await checkPooler(database, settings);
    // Where transactions fall apart, nothing else can be asked.
    if (route.some(({ code }) => code === "pooler_splits")) return route;
    return unlike([...route, ...(await examineAll(database, url, settings, userTables))]);
  } catch (error) {
    return [unreachable(error)];
  } finally {
    await database.close();
  }
}

async function examineAll(
  database: Database,
  url: string,
  settings: Settings,
  userTables: UserTables | undefined,
): Promise<readonly Finding[]> {
  /** In a transaction of its own, in which the catalogs print every name with its schema. */
  const qualified = (check: string, run: (tx: Tx) => Promise<readonly Finding[]>): Promise<readonly Finding[]> =>
    attempt(check, () =>
      database.transaction(async (tx) => {
        await qualifyNames(tx);
        return await run(tx);
      }),
    );
  const [server, login, version, searchPath, memberships, functions, tables, checkout] = await Promise.all([
    attempt("server", () => examineServer(database, url, settings)),
    attempt("login", () => checkLogin(database)),
    attempt("schema version", () => checkVersion(database)),
    attempt("search path", () => checkSearchPath(database)),
    attempt("memberships", () => checkMemberships(database)),
    qualified("functions", (tx) => checkFunctions(tx, [])),
    qualified("tables", checkTables),
    attempt("clamp at checkout", () => checkCheckout(database, ourSetting)),
  ]);
  // On functions of another version these would find nothing but that, in other words.
  const ifOurs = async (check: string, run: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> =>
    version.length > 0 ? [] : await attempt(check, run);
  const bound = !login.some(({ code }) => unbinding.has(code));
  const [rights, grants, tenancy, canary, sweepers, secretKeys, rows] = await Promise.all([
    ifOurs("rights", () => checkRights(database, settings.role)),
    ifOurs("grants", () => checkGrants(database)),
    ifOurs("tenancy", () => checkTenancy(database, settings)),
    ifOurs("canary", () => checkCanary(database)),
    ifOurs("sweepers", async () => checkSweepers(await inspectSweepers(database))),
    ifOurs("secret keys", () => checkSecretKeys(database, settings)),
    bound ? ifOurs("rows", () => checkOurRows(database, tables)) : [],
  ]);
  return [
    ...server,
    ...login,
    ...version,
    ...rights,
    ...grants,
    ...memberships,
    ...functions,
    ...searchPath,
    ...tables,
    ...tenancy,
    ...checkout,
    ...canary,
    ...sweepers,
    ...secretKeys,
    ...rows,
    ...(await examineUserTables(database, userTables, bound)),
  ];
}

async function examineServer(database: Database, url: string, settings: Settings): Promise<readonly Finding[]> {
  const beforeMs = Date.now();
  const facts = await inspectServer(database);
  return [
    ...checkServer(facts),
    ...checkEncryption(settings, url, facts),
    ...checkClock(facts.nowMs, beforeMs, Date.now()),
  ];
}

async function examineUserTables(
  database: Database,
  tables: UserTables | undefined,
  bound: boolean,
): Promise<readonly Finding[]> {
  if (tables === undefined) return [];
  const { tenantSetting: setting } = tables;
  const asked = { ...tables, signed: await isSigned(database).catch(() => false) };
  const checkout =
    setting === null || setting === ourSetting
      ? []
      : await attempt(`${setting} at checkout`, () => checkCheckout(database, setting));
  const found = await Promise.all([
    ...tables.names.map((name) => attempt(`table ${name}`, () => checkUserTable(database, name, asked, bound))),
    attempt("temporary tables", () => checkTemporary(database)),
  ]);
  return [...checkout, ...found.flat()];
}

/** A view or a function may stand before several tables, and one that does not answer before every check. */
function unlike(findings: readonly Finding[]): readonly Finding[] {
  const same = (one: Finding, other: Finding): boolean =>
    one.code === other.code && one.subject === other.subject && one.mend === other.mend;
  return findings.filter((finding, n) => findings.findIndex((other) => same(finding, other)) === n);
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
