// What stands before Postgres: whether it keeps a transaction together, and whether it is known to be sound. A pooler cannot
// be asked through itself, so its version is declared, and that there is one is told by whom it answers for.
import type { Settings } from "../config/settings.ts";
import type { Database } from "../store/database.ts";
import { inspectRoute } from "../store/inspect-route.ts";
import type { Finding } from "./finding.ts";

/** The first PgBouncer without the holes that are known of the ones before. */
const soundPgBouncer: readonly number[] = [1, 25, 2];

/** Rejects when Postgres does not answer. */
export async function checkPooler(database: Database, { pooler }: Settings): Promise<readonly Finding[]> {
  const { pooled, split } = await inspectRoute(database);
  if (split !== null) {
    return [
      {
        code: "pooler_splits",
        severity: "refuse",
        subject: "DATABASE_URL",
        message: `what stands before Postgres does not keep the statements of a transaction together: ${split}`,
        mend: "let it pool by transaction (PgBouncer: pool_mode = transaction), or name Postgres itself in DATABASE_URL",
      },
    ];
  }
  return judgePooler(pooler, pooled);
}

/** `declared`: as in DOORBELL_POOLER. */
export function judgePooler(declared: string | null, pooled: boolean): readonly Finding[] {
  const [, name, version] = /^([a-z]+)(?:-([0-9.]+))?$/.exec(declared ?? "") ?? [];
  const least = `pgbouncer-${soundPgBouncer.join(".")}`;
  const subject = "DOORBELL_POOLER";
  if (name === "pgbouncer" && version !== undefined) {
    if (!isOlder(version, soundPgBouncer)) return [];
    return [
      {
        code: "pooler_too_old",
        severity: "refuse",
        subject,
        message: `PgBouncer ${version} has known holes: anybody who reaches its port can end it, and all connections with it`,
        mend: `update it, and set DOORBELL_POOLER=${least} or newer`,
      },
    ];
  }
  if ((name !== undefined && name !== "pgbouncer") || !pooled) return [];
  return [
    {
      code: "pooler_unknown",
      severity: "warn",
      subject,
      message: "a pooler stands before Postgres, and nobody has said which: PgBouncer before 1.25.2 has known holes",
      mend: `set DOORBELL_POOLER to what it is: ${least}, or the name of another`,
    },
  ];
}

function isOlder(version: string, than: readonly number[]): boolean {
  const parts = version.split(".").map(Number);
  const differs = than.findIndex((part, n) => (parts[n] ?? 0) !== part);
  return differs !== -1 && (parts[differs] ?? 0) < (than[differs] ?? 0);
}
