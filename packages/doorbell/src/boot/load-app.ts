// Finds and loads the application's module. What is wrong with it is told with its file name, and whatever it throws while
// it is loaded is its own.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { App } from "../app.ts";
import { DoorbellError } from "../core/errors.ts";

const defaultFiles: readonly string[] = ["doorbell.config.ts", "doorbell.config.js", "doorbell.config.mjs"];

/** The module's `app`. Null: none was named, and there is none of the usual name. Throws option_invalid. */
export async function loadApp(named: string | null): Promise<App | null> {
  const file = named ?? defaultFiles.find((name) => existsSync(name));
  if (file === undefined) return null;
  const path = resolve(file);
  if (!existsSync(path)) throw new DoorbellError("option_invalid", `there is no application module ${path}`);
  const { app } = await importModule(path);
  if (!isApp(app)) {
    throw new DoorbellError(
      "option_invalid",
      `${path} does not export \`app\`, made with defineApp({ jobs, handlers, … })`,
    );
  }
  return app;
}

async function importModule(path: string): Promise<{ readonly app?: unknown }> {
  try {
    return await import(pathToFileURL(path).href);
  } catch (error) {
    if ((error as { code?: unknown } | null)?.code !== "ERR_UNKNOWN_FILE_EXTENSION") throw error;
    throw new DoorbellError(
      "option_invalid",
      `this Node.js (${process.version}) does not load TypeScript: compile ${path}, and name the compiled file`,
      { cause: error },
    );
  }
}

function isApp(value: unknown): value is App {
  if (typeof value !== "object" || value === null) return false;
  const { jobs, handlers } = value as Partial<App>;
  return Array.isArray(jobs) && typeof handlers === "function";
}
