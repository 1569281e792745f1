// A client for the length of one command: small, quiet, and closed at the end whatever happened.
import { findDevelopmentDatabase } from "../boot/development-database.ts";
import { type Client, openClient } from "../client/client.ts";
import { resolveSettings, type Settings, tenancyOptions } from "../config/settings.ts";
import { DoorbellError } from "../core/errors.ts";
import type { Tx } from "../store/database.ts";
import { createLog } from "../telemetry/log.ts";

export interface CommandClientOptions {
  /** Opens the object store of the settings. Else there is none. */
  readonly objects?: boolean;
}

/** What a command takes the trouble to send. Which limit is set Postgres knows, and refuses what is above it. */
export const handledBytesMax: number = 16 * 1_024 * 1_024;

/** The database of the settings, or the server of `doorbell start` in this folder. Throws option_invalid. */
export async function requireDatabaseUrl(settings: Settings): Promise<string> {
  const url = settings.databaseUrl ?? (settings.environment === "development" ? await findDevelopmentDatabase() : null);
  if (url === null) {
    throw new DoorbellError(
      "option_invalid",
      settings.environment === "development"
        ? "DATABASE_URL is not set, and no `doorbell start` of this folder runs: set it, or start one"
        : "DATABASE_URL is not set",
    );
  }
  return url;
}

export async function withClient<T>(
  options: CommandClientOptions,
  use: (client: Client, settings: Settings) => Promise<T>,
): Promise<T> {
  const settings = resolveSettings(process.env);
  const client = await openClient({
    databaseUrl: await requireDatabaseUrl(settings),
    ...(options.objects && { objects: settings.objectsUrl }),
    valueMaxBytes: handledBytesMax,
    connectionsMax: 2,
    ...tenancyOptions(settings),
    log: createLog({ level: "warn", destination: process.stderr }),
  });
  try {
    return await use(client, settings);
  } finally {
    client.metrics.close();
    await client.close();
  }
}

/** The same, in one transaction that is clamped to the tenant. */
export function asTenant<T>(tenant: string, use: (tx: Tx, client: Client) => Promise<T>): Promise<T> {
  return withClient({}, (client) => client.transaction(tenant, (tx) => use(tx, client)));
}

/** What another tenant's job is answered with, and one that never was. */
export function noSuchJob(id: string): DoorbellError {
  return new DoorbellError("job_not_found", `no such job: ${id}`);
}
