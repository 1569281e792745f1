// Whether a process that sends to endpoints of webhooks can open their secrets. Where it cannot, their events would fail one
// by one; better it says so at its start.
import type { Settings } from "../config/settings.ts";
import type { Tx } from "../store/database.ts";
import { hasEndpoints } from "../store/webhooks.ts";
import type { Finding } from "./finding.ts";

/** Role web sends nothing. */
export async function checkSecretKeys(tx: Tx, { role, secretKeys }: Settings): Promise<readonly Finding[]> {
  if (role === "web" || secretKeys !== null || !(await hasEndpoints(tx))) return [];
  return [
    {
      code: "secret_keys_missing",
      severity: "refuse",
      subject: "DOORBELL_SECRET_KEYS",
      message:
        "there are endpoints of webhooks, and no key to open their secrets with: nothing would be sent to any of them",
      mend: "set DOORBELL_SECRET_KEYS to what it is where endpoints are added",
    },
  ];
}
