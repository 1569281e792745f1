// What to try while the demo stays up.
import type { Outcome } from "./outcome.ts";
import type { Stand } from "./stand.ts";

export function nextSteps(
  { accounts, database, folder, objectsUrl, web, workers }: Stand,
  { documents }: Outcome,
): string {
  const { appUrl } = database;
  const [account] = accounts;
  if (account === undefined) throw new Error("there are no accounts");
  const own = documents.filter((document) => document.account.id === account.id);
  const job = own.find(({ jobState }) => jobState === "done")?.jobId ?? "JOB";
  const key = `sha256/${own[0]?.shown.sha256 ?? "…"}`;
  const tokens = accounts.map(({ id, token }) => `  ${id}  ${token}`);
  return `It stays up. To try:

  export TOKEN=${account.token}
  curl -H "authorization: Bearer $TOKEN" --data-binary @invoice.pdf '${web.url}/invoices?name=invoice.pdf'
  curl -H "authorization: Bearer $TOKEN" ${web.url}/invoices
  curl ${web.url}/readyz
  curl ${workers[1].url}/metrics

  export DATABASE_URL='${appUrl}' DOORBELL_OBJECTS='${objectsUrl}'
  npm run doorbell -- jobs list --tenant ${account.id}
  npm run doorbell -- logs ${job} --tenant ${account.id}
  npm run doorbell -- replay --object-key ${key} --tenant ${account.id}
  npm run doorbell -- dead-letters list --tenant ${account.id}
  npm run doorbell -- stats

Tokens:
${tokens.join("\n")}

The logs of all processes are in ${folder.logs}. Ctrl-C ends everything.`;
}
