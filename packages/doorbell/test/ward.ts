// A database to plant faults in, and the doctor's findings on it: as production would have them, as a login of one's choice.
import { expect, onTestFinished } from "vitest";
import type { UserTables } from "../src/boot/check-user-tables.ts";
import { examine } from "../src/boot/doctor.ts";
import type { Finding, FindingCode } from "../src/boot/finding.ts";
import { resolveSettings } from "../src/config/settings.ts";
import { newId } from "../src/core/ids.ts";
import { createTestDatabase, type TestDatabase } from "../src/testing/database.ts";

export const production = { DOORBELL_ENV: "production", DOORBELL_OBJECTS: "file:/tmp" };

export interface Ward {
  readonly database: TestDatabase;
  /** As a superuser, in the database. */
  readonly sql: (text: string) => Promise<unknown>;
  /** What is found for this login. */
  readonly findings: (login?: string, role?: string) => Promise<readonly Finding[]>;
  readonly codes: (login?: string, role?: string) => Promise<readonly FindingCode[]>;
  /** Runs the mends of this code as they are printed, and expects that it is found no more. Resolves to what is. */
  readonly mend: (code: FindingCode, login?: string, role?: string) => Promise<readonly FindingCode[]>;
  /** A login that is gone with the test, with these attributes and memberships. */
  readonly login: (attributes?: string, memberOf?: string) => Promise<string>;
}

export async function openWard(userTables?: UserTables): Promise<Ward> {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const sql: Ward["sql"] = (text) => database.query(text);
  const name = new URL(database.adminUrl).pathname.slice(1);
  // The server of the tests is the embedded one, and does not wait for the disk: both are findings of their own. So are
  // temporary tables, which anybody may make in a new database.
  await sql(`alter database ${name} set doorbell.embedded = 'off'; alter database ${name} set synchronous_commit = on;
             revoke temporary on database ${name} from public`);
  const findings: Ward["findings"] = async (login = "app", role = "all") => {
    const url = new URL(database.adminUrl);
    url.username = login;
    const settings = resolveSettings({ ...production, DOORBELL_ROLE: role });
    const patient = { settings, databaseUrl: url.href, variables: {} };
    return await examine(userTables === undefined ? patient : { ...patient, userTables });
  };
  const codes: Ward["codes"] = async (login, role) => (await findings(login, role)).map(({ code }) => code);
  return {
    database,
    sql,
    findings,
    codes,
    mend: async (code, login, role) => {
      const found = (await findings(login, role)).filter((finding) => finding.code === code);
      expect(found).not.toEqual([]);
      for (const { mend } of found) await sql(mend);
      const left = await codes(login, role);
      expect(left).not.toContain(code);
      return left;
    },
    login: async (attributes = "", memberOf = "doorbell_web, doorbell_worker") => {
      const login = `test_${newId().replaceAll("-", "")}`;
      await sql(`create role ${login} login ${attributes} in role ${memberOf}`);
      onTestFinished(async () => {
        await sql(`drop owned by ${login}`);
        await sql(`drop role ${login}`);
      });
      return login;
    },
  };
}
