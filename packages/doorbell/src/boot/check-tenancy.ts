// Whether this process and the database agree on how a transaction proves its tenant, and whether signing protects anything:
// a login that may claim serves all tenants without a token, so the web tier must not have it.
import { type Settings, tenancyOptions } from "../config/settings.ts";
import type { Database } from "../store/database.ts";
import { isSigned, tenantInForce, whoMayClaim } from "../store/inspect-tenancy.ts";
import { clamp, tenancyOf } from "../store/tenancy.ts";
import type { Finding } from "./finding.ts";

const nobody = "doorbell:doctor";
const subject = "DOORBELL_TENANCY";

export async function checkTenancy(database: Database, settings: Settings): Promise<readonly Finding[]> {
  const wanted = settings.tenancy === "signed";
  const signed = await isSigned(database);
  if (wanted && settings.tenancySecrets === null) {
    return [
      refusal(
        "tenancy_unproven",
        "tenancy is to be signed, and there is no secret to sign with",
        "set DOORBELL_TENANCY_SECRETS (openssl rand -hex 32 makes one), and run doorbell migrate with it",
      ),
    ];
  }
  if (wanted && !signed) {
    return [
      refusal(
        "tenancy_unsigned",
        "tenancy is to be signed, and the database takes every clamp without a token",
        "doorbell migrate, with DOORBELL_TENANCY and DOORBELL_TENANCY_SECRETS set as they are here",
      ),
    ];
  }
  if (!signed) return [];
  if (!wanted) {
    return [
      refusal(
        "tenancy_unproven",
        "tenancy is signed in the database, and this process does not sign: it would see no rows",
        "set DOORBELL_TENANCY=signed and DOORBELL_TENANCY_SECRETS; or, as doorbell_owner: select doorbell.accept_tokens('{}')",
      ),
    ];
  }
  const findings: Finding[] = [];
  if (!(await tokenIsTaken(database, settings))) {
    findings.push(
      refusal(
        "tenancy_unproven",
        "the database does not take this process's tokens: it was given another secret, or the clocks are far apart",
        "doorbell migrate, with DOORBELL_TENANCY_SECRETS set as they are here",
      ),
    );
  }
  const { login, claims } = await whoMayClaim(database);
  if (settings.role !== "worker" && claims) {
    findings.push(
      refusal(
        "tenancy_login",
        `tenancy is signed, and the web tier's login ${login} may claim: it serves every tenant without a token, and so does SQL that somebody injects into it`,
        `revoke doorbell_worker from ${login}; grant doorbell_web to ${login} -- and start web and worker as two processes, each with its login`,
      ),
    );
  }
  return findings;
}

function tokenIsTaken(database: Database, settings: Settings): Promise<boolean> {
  return database.transaction(async (tx) => {
    await clamp(tx, nobody, tenancyOf(null, tenancyOptions(settings)));
    return (await tenantInForce(tx)) === nobody;
  });
}

function refusal(code: Finding["code"], message: string, mend: string): Finding {
  return { code, severity: "refuse", subject, message, mend };
}
