// What the settings alone show.
import { type Settings, unknownVariables } from "../config/settings.ts";
import type { Finding } from "./finding.ts";

export function checkSettings(
  settings: Settings,
  variables: NodeJS.ProcessEnv,
  databaseUrl: string | null,
): readonly Finding[] {
  const findings: Finding[] = [];
  if (databaseUrl === null) {
    findings.push({
      code: "database_missing",
      severity: "refuse",
      subject: "DATABASE_URL",
      message: "DATABASE_URL is not set: there is no database to keep jobs in",
      mend: "set DATABASE_URL=postgres://LOGIN:PASSWORD@HOST/DATABASE",
    });
  }
  if (settings.webhookAllowPrivate) {
    findings.push({
      code: "webhooks_private",
      severity: "refuse",
      subject: "DOORBELL_WEBHOOK_ALLOW_PRIVATE",
      message: "webhooks may reach private addresses: a tenant's URL can call what only this machine can reach",
      mend: "unset DOORBELL_WEBHOOK_ALLOW_PRIVATE",
    });
  }
  for (const name of unknownVariables(variables)) {
    findings.push({
      code: "setting_unknown",
      severity: "warn",
      subject: name,
      message: `${name} is no setting of this version, and has no effect`,
      mend: "see docs/settings.md for the names",
    });
  }
  return findings;
}
