// `doorbell doctor`: what `start` would find, as the login that would start, and what the application's tables leave open.
import { Command, Option } from "commander";
import type { UserTables } from "../boot/check-user-tables.ts";
import { findDevelopmentDatabase } from "../boot/development-database.ts";
import { examine } from "../boot/doctor.ts";
import { loadApp } from "../boot/load-app.ts";
import { resolveSettings } from "../config/settings.ts";
import { settingsTable } from "../config/table.ts";
import { jsonOption, settingName, tableNames } from "./arguments.ts";
import { exitCodes } from "./errors.ts";
import { print, printJson } from "./output.ts";
import { printable } from "./table.ts";

interface Given {
  readonly role?: string;
  readonly app?: string;
  readonly tables?: readonly string[];
  readonly tenantColumn: string;
  readonly setting?: string;
  readonly json?: boolean;
}

export function doctorCommand(): Command {
  const { role, app } = settingsTable;
  return new Command("doctor")
    .description("examine settings, login and schema; exit code 1 if production would refuse to start")
    .option("--role <role>", `as a process of this role would (${role.unit}; ${role.env})`)
    .addOption(
      new Option("--tables <names>", "examine these tables of yours too: app.documents,app.invoices").argParser(
        tableNames,
      ),
    )
    .option("--tenant-column <name>", "whose a row of them is", "tenant_id")
    .addOption(
      new Option(
        "--setting <name>",
        "what their policies read (default: the application's tenantSetting, else doorbell.tenant_id)",
      ).argParser(settingName),
    )
    .option("--app <module>", `the application, for its tenantSetting (${app.env})`)
    .addOption(jsonOption())
    .action(async (given: Given) => {
      const settings = resolveSettings(process.env, {
        ...(given.role !== undefined && { role: given.role }),
        ...(given.app !== undefined && { app: given.app }),
      });
      const userTables = await userTablesOf(given, settings.app);
      const development = settings.environment === "development" ? await findDevelopmentDatabase() : null;
      const findings = await examine({
        settings,
        databaseUrl: settings.databaseUrl ?? development,
        variables: process.env,
        ...(userTables !== null && { userTables }),
      });
      if (given.json) printJson(findings);
      else {
        for (const { severity, code, message, mend } of findings) {
          print(`${severity.padEnd(6)}  ${code}: ${printable(message)}\n        mend: ${printable(mend)}`);
        }
        if (findings.length === 0) print(`nothing found: role ${settings.role} may start in production`);
      }
      if (findings.some((finding) => finding.severity === "refuse")) process.exitCode = exitCodes.failed;
    });
}

/** The application is loaded only where nothing else tells which setting its policies read. */
async function userTablesOf(given: Given, app: string | null): Promise<UserTables | null> {
  const { tables: names, tenantColumn, setting } = given;
  if (names === undefined) return null;
  return { names, tenantColumn, tenantSetting: setting ?? (await loadApp(app))?.tenantSetting ?? null };
}
