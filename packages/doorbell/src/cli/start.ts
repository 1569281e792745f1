// `doorbell start`: a process of the application, until a signal ends it.
import { Command, Option } from "commander";
import { defineApp } from "../app.ts";
import { type DevelopmentDatabase, startDevelopmentDatabase } from "../boot/development-database.ts";
import { examine } from "../boot/doctor.ts";
import { loadApp } from "../boot/load-app.ts";
import { startProcess } from "../boot/process.ts";
import { logFindings, reasonsToRefuse, refusalText } from "../boot/refusal.ts";
import { installEnding } from "../boot/signals.ts";
import { defaultText } from "../config/default-text.ts";
import { resolveSettings, type SettingName, type Settings, settingNames } from "../config/settings.ts";
import { type Setting, settingsTable } from "../config/table.ts";
import { DoorbellError } from "../core/errors.ts";
import { createLog, type Log } from "../telemetry/log.ts";
import { exitCodes } from "./errors.ts";

/** Beyond the grace: for settling, closing connections, and the like. */
const takeDownMs = 15_000;

/** Every setting with a flag is an option: the table is the only list of them. */
const options: readonly (readonly [SettingName, Option])[] = settingNames.flatMap((name) => {
  const option = optionOf(settingsTable[name]);
  return option === null ? [] : [[name, option] as const];
});

function optionOf(setting: Setting<unknown>): Option | null {
  const { flag, unit, meaning, env } = setting;
  if (flag === null) return null;
  const preset = defaultText(setting, (text) => text);
  const facts = [unit, ...(preset === null ? [] : [`default ${preset}`]), env];
  return new Option(`${flag} <value>`, `${meaning} (${facts.join("; ")})`);
}

export function startCommand(): Command {
  const command = new Command("start").description("serve HTTP, run handlers, or both, until a signal comes");
  for (const [, option] of options) command.addOption(option);
  return command.action(async (given: Readonly<Record<string, string>>) => {
    const chosen = options.flatMap(([name, option]) => {
      const text = given[option.attributeName()];
      return text === undefined ? [] : [[name, text]];
    });
    await start(resolveSettings(process.env, Object.fromEntries(chosen)));
  });
}

async function start(settings: Settings): Promise<void> {
  const log = createLog({ level: settings.logLevel, base: { role: settings.role } });
  const database = await openDatabase(settings, log);
  try {
    const findings = await examine({ settings, databaseUrl: database?.url ?? null, variables: process.env });
    const reasons = reasonsToRefuse(findings, settings.environment);
    if (reasons.length > 0 || database === null) {
      process.stderr.write(refusalText(reasons, settings.environment));
      process.exitCode = exitCodes.refused;
      await database?.stop();
      return;
    }
    logFindings(findings, log);
    const app = (await loadApp(settings.app)) ?? appWithoutHandlers(settings);
    const running = await startProcess({ app, settings, databaseUrl: database.url, log });
    installEnding({
      log,
      stop: () => running.stop().finally(() => database.stop()),
      stopWithinMs: settings.closeAfterMs + settings.graceMs + takeDownMs,
    });
  } catch (error) {
    // What an application threw is found by its stack, which the one line on standard error has no room for.
    if (!DoorbellError.isInstance(error)) log.error("the process could not start", { error });
    await database?.stop();
    throw error;
  }
}

/** Null: production, and none is named, which the doctor will say. */
async function openDatabase(settings: Settings, log: Log): Promise<DevelopmentDatabase | null> {
  const { databaseUrl, environment } = settings;
  if (databaseUrl !== null) return { url: databaseUrl, stop: async () => {} };
  return environment === "production" ? null : await startDevelopmentDatabase(log, settings);
}

/** Web can do without an application: it serves what is the product's, and maintains. */
function appWithoutHandlers({ role }: Settings) {
  if (role === "web") return defineApp({ jobs: [], handlers: () => [] });
  throw new DoorbellError(
    "option_invalid",
    `role ${role} needs the application's handlers: name its module with --app or DOORBELL_APP`,
  );
}
