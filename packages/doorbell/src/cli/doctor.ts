// `doorbell doctor`: what `start` would find, as the login that would start.
import { Command } from "commander";
import { findDevelopmentDatabase } from "../boot/development-database.ts";
import { examine } from "../boot/doctor.ts";
import { resolveSettings } from "../config/settings.ts";
import { settingsTable } from "../config/table.ts";
import { jsonOption } from "./arguments.ts";
import { exitCodes } from "./errors.ts";
import { print, printJson } from "./output.ts";
import { printable } from "./table.ts";

export function doctorCommand(): Command {
  const { role } = settingsTable;
  return new Command("doctor")
    .description("examine settings, login and schema; exit code 1 if production would refuse to start")
    .option("--role <role>", `as a process of this role would (${role.unit}; ${role.env})`)
    .addOption(jsonOption())
    .action(async (given: { readonly role?: string; readonly json?: boolean }) => {
      const settings = resolveSettings(process.env, given.role === undefined ? {} : { role: given.role });
      const development = settings.environment === "development" ? await findDevelopmentDatabase() : null;
      const databaseUrl = settings.databaseUrl ?? development;
      const findings = await examine({ settings, databaseUrl, variables: process.env });
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
