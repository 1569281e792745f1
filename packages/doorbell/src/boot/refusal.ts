// Whether to start with these findings. Production starts with nothing that refuses; development tells of it and goes on,
// unless nothing could work anyway.
import type { Environment } from "../config/settings.ts";
import { oneLine } from "../core/text.ts";
import type { Log } from "../telemetry/log.ts";
import type { Finding, FindingCode } from "./finding.ts";

/** Without these there is nothing to start. */
const fatalEverywhere: ReadonlySet<FindingCode> = new Set([
  "database_missing",
  "database_unreachable",
  "objects_unusable",
  "pooler_splits",
  "schema_ahead",
  "schema_behind",
  "schema_missing",
  "tenancy_unproven",
]);

/** The reasons not to start here; empty: start. */
export function reasonsToRefuse(findings: readonly Finding[], environment: Environment): readonly Finding[] {
  return findings.filter(
    ({ code, severity }) => severity === "refuse" && (environment === "production" || fatalEverywhere.has(code)),
  );
}

/** One line a reason, all of them: who mends one and starts again should not meet the next. */
export function refusalText(reasons: readonly Finding[], environment: Environment): string {
  return reasons
    .map(({ message, mend }) => `${oneLine(`doorbell: refused to start in ${environment}: ${message} (${mend})`)}\n`)
    .join("");
}

/** Tells of what was found and does not keep the process from starting. */
export function logFindings(findings: readonly Finding[], log: Log): void {
  for (const { code, severity, subject, message, mend } of findings) {
    log.warn(severity === "refuse" ? `production would refuse: ${message}` : message, { code, subject, mend });
  }
}
