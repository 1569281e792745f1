// What to try while the demo stays up.
import type { DemoAccount } from "./accounts.ts";
import type { Outcome } from "./outcome.ts";

export interface Standing {
  readonly webUrl: string;
  readonly workerUrl: string;
  readonly appUrl: string;
  readonly objectsUrl: string;
  readonly logs: string;
  readonly accounts: readonly DemoAccount[];
}

export function nextSteps({ webUrl, workerUrl, appUrl, objectsUrl, logs, accounts }: Standing, { documents }: Outcome): string {
  const [account] = accounts;
  if (account === undefined) throw new Error("there are no accounts");
  const own = documents.filter((document) => document.account.id === account.id);
  const job = own.find(({ jobState }) => jobState === "done")?.jobId ?? "JOB";
  const key = `sha256/${own[0]?.shown.sha256 ?? "…"}`;
  const tokens = accounts.map(({ id, token }) => `  ${id}  ${token}`);
  return `It stays up. To try:

  export TOKEN=${account.token}
  curl -H "authorization: Bearer $TOKEN" --data-binary @invoice.pdf '${webUrl}/invoices?name=invoice.pdf'
  curl -H "authorization: Bearer $TOKEN" ${webUrl}/invoices
  curl ${webUrl}/readyz
  curl ${workerUrl}/metrics

  export DATABASE_URL='${appUrl}' DOORBELL_OBJECTS='${objectsUrl}'
  npm run doorbell -- jobs list --tenant ${account.id}
  npm run doorbell -- logs ${job} --tenant ${account.id}
  npm run doorbell -- replay --object-key ${key} --tenant ${account.id}
  npm run doorbell -- dead-letters list --tenant ${account.id}
  npm run doorbell -- stats

Tokens:
${tokens.join("\n")}

The logs of all processes are in ${logs}. Ctrl-C ends everything.`;
}
